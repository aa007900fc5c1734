-- Environment variables of a definition's program. Those that are secret are sealed (see SecretsKey), and are all
-- versions' alike; `secrets_key` says by which key.

ALTER TABLE definition ADD COLUMN environment TEXT NOT NULL DEFAULT '{}';
ALTER TABLE definition ADD COLUMN secrets TEXT NOT NULL DEFAULT '[]';
ALTER TABLE definition_history ADD COLUMN environment TEXT NOT NULL DEFAULT '{}';

-- Of a flare, as they were when it was accepted; forgotten with its inputs.
ALTER TABLE flare_inputs ADD COLUMN environment TEXT;

CREATE TABLE secrets_key (
  one_row INTEGER NOT NULL PRIMARY KEY CHECK (one_row = 1),
  id      TEXT    NOT NULL
);
