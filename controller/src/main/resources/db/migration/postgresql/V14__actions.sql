-- What OpenWhisk's clients say of a definition, an action to them (see ActionFields).

ALTER TABLE definition ADD COLUMN action TEXT NOT NULL DEFAULT '{}';
ALTER TABLE definition_history ADD COLUMN action TEXT NOT NULL DEFAULT '{}';

-- Packages of actions, and bindings, which have another package's place in `bound_namespace` and `bound_name`. An
-- action in a package is a definition called PACKAGE/NAME.

CREATE TABLE action_package (
  namespace       TEXT    NOT NULL,
  name            TEXT    NOT NULL,
  version         TEXT    NOT NULL,
  publish         INTEGER NOT NULL,
  bound_namespace TEXT,
  bound_name      TEXT,
  parameters      TEXT    NOT NULL,
  init            TEXT    NOT NULL,
  annotations     TEXT    NOT NULL,
  updated         BIGINT  NOT NULL,
  PRIMARY KEY (namespace, name)
);
