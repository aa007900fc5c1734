-- Begins where SQLite's migrations are at version 2, so that later ones bear the same number in both. Times
-- are microseconds since the epoch. What is queried has a column; the rest of a record is JSON. What users
-- wrote freely is kept as bytes: PostgreSQL's text cannot hold a NUL.

CREATE TABLE namespace (
  name     TEXT   NOT NULL PRIMARY KEY,
  uuid     TEXT   NOT NULL UNIQUE,
  key_hash TEXT   NOT NULL,
  limits   TEXT,
  created  BIGINT NOT NULL,
  revoked  BIGINT
);

CREATE TABLE definition (
  namespace    TEXT    NOT NULL,
  name         TEXT    NOT NULL,
  revision     INTEGER NOT NULL,
  kind         TEXT    NOT NULL,
  package_id   TEXT    NOT NULL,
  package_size BIGINT  NOT NULL,
  options      TEXT    NOT NULL,
  parameters   TEXT    NOT NULL,
  updated      BIGINT  NOT NULL,
  PRIMARY KEY (namespace, name)
);
CREATE INDEX definition_by_package ON definition (package_id);

-- `progress` and `parts` (packs and workers) change in a flare's life, `request` does not. They stand apart
-- so that a list reads no parts and an update writes no request.
CREATE TABLE flare (
  id            TEXT    NOT NULL PRIMARY KEY,
  namespace     TEXT    NOT NULL,
  name          TEXT    NOT NULL,
  package_id    TEXT    NOT NULL,
  state         TEXT    NOT NULL,
  created       BIGINT  NOT NULL,
  ended         BIGINT,
  request       TEXT    NOT NULL,
  progress      TEXT    NOT NULL,
  log_bytes     BIGINT  NOT NULL DEFAULT 0,
  log_truncated INTEGER NOT NULL DEFAULT 0,
  phase_count   BIGINT  NOT NULL DEFAULT 0,
  parts         TEXT    NOT NULL,
  writer        TEXT    NOT NULL
);
CREATE INDEX flare_by_namespace ON flare (namespace, created);
CREATE INDEX flare_by_state ON flare (state, package_id);
CREATE INDEX flare_by_end ON flare (ended);

-- Kept only until the flare has ended.
CREATE TABLE flare_inputs (
  flare_id TEXT NOT NULL PRIMARY KEY REFERENCES flare (id) ON DELETE CASCADE,
  inputs   TEXT NOT NULL
);

CREATE TABLE flare_result (
  flare_id TEXT    NOT NULL REFERENCES flare (id) ON DELETE CASCADE,
  worker   INTEGER NOT NULL,
  output   TEXT,
  error    TEXT,
  PRIMARY KEY (flare_id, worker)
);

CREATE TABLE flare_log (
  id       BIGINT  GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
  flare_id TEXT    NOT NULL REFERENCES flare (id) ON DELETE CASCADE,
  worker   INTEGER,
  pack     INTEGER NOT NULL,
  stream   TEXT    NOT NULL,
  at       BIGINT  NOT NULL,
  line     BYTEA   NOT NULL
);
CREATE INDEX flare_log_by_flare ON flare_log (flare_id);

CREATE TABLE flare_phase (
  id       BIGINT  GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
  flare_id TEXT    NOT NULL REFERENCES flare (id) ON DELETE CASCADE,
  worker   INTEGER NOT NULL,
  name     BYTEA   NOT NULL,
  at       BIGINT  NOT NULL
);
CREATE INDEX flare_phase_by_flare ON flare_phase (flare_id);
