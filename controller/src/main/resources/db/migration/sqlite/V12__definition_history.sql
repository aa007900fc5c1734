-- Versions of definitions that were replaced and are kept; the present one stands in `definition`.

CREATE TABLE definition_history (
  namespace    TEXT    NOT NULL,
  name         TEXT    NOT NULL,
  revision     INTEGER NOT NULL,
  kind         TEXT    NOT NULL,
  package_id   TEXT    NOT NULL,
  package_size BIGINT  NOT NULL,
  options      TEXT    NOT NULL,
  parameters   TEXT    NOT NULL,
  updated      BIGINT  NOT NULL,
  PRIMARY KEY (namespace, name, revision),
  FOREIGN KEY (namespace, name) REFERENCES definition (namespace, name) ON DELETE CASCADE
);
CREATE INDEX definition_history_by_package ON definition_history (package_id);
