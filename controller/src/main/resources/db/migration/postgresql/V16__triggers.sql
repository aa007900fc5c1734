-- OpenWhisk's triggers and rules, and alarms that fire triggers. Times are microseconds since the epoch.

CREATE TABLE event_trigger (
  namespace   TEXT    NOT NULL,
  name        TEXT    NOT NULL,
  version     TEXT    NOT NULL,
  publish     INTEGER NOT NULL,
  parameters  TEXT    NOT NULL,
  annotations TEXT    NOT NULL,
  had_rules   INTEGER NOT NULL DEFAULT 0,
  updated     BIGINT  NOT NULL,
  PRIMARY KEY (namespace, name)
);
CREATE INDEX event_trigger_by_update ON event_trigger (namespace, updated);

-- `status` is what its trigger knows of it: none once that was deleted, also when there is another one of its name.
CREATE TABLE trigger_rule (
  namespace    TEXT    NOT NULL,
  name         TEXT    NOT NULL,
  version      TEXT    NOT NULL,
  publish      INTEGER NOT NULL,
  trigger_name TEXT    NOT NULL,
  action_path  TEXT    NOT NULL,
  action_name  TEXT    NOT NULL,
  status       TEXT,
  annotations  TEXT    NOT NULL,
  updated      BIGINT  NOT NULL,
  PRIMARY KEY (namespace, name)
);
CREATE INDEX trigger_rule_by_trigger ON trigger_rule (namespace, trigger_name);
CREATE INDEX trigger_rule_by_update ON trigger_rule (namespace, updated);

-- `due` is when it fires next: never, while it is paused or after its last time. `remaining` is how often it may yet.
CREATE TABLE alarm (
  namespace    TEXT   NOT NULL,
  trigger_name TEXT   NOT NULL,
  schedule     TEXT   NOT NULL,
  payload      TEXT   NOT NULL,
  due          BIGINT,
  remaining    BIGINT,
  reason       TEXT,
  changed      BIGINT NOT NULL,
  PRIMARY KEY (namespace, trigger_name),
  FOREIGN KEY (namespace, trigger_name) REFERENCES event_trigger (namespace, name) ON DELETE CASCADE
);
CREATE INDEX alarm_by_due ON alarm (due);
