-- APIs of the gateway: paths that lead to web actions. Each namespace is one tenant; `document` is swagger, and
-- `revision` another one with each change.

CREATE TABLE gateway_api (
  tenant    TEXT NOT NULL,
  base_path TEXT NOT NULL,
  namespace TEXT NOT NULL,
  title     TEXT NOT NULL,
  revision  TEXT NOT NULL,
  document  TEXT NOT NULL,
  PRIMARY KEY (tenant, base_path)
);
