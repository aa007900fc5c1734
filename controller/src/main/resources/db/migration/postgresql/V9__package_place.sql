-- Where the packages of the definitions are: one place for all controllers that share this database.

CREATE TABLE package_place (
  one_row  INTEGER NOT NULL PRIMARY KEY CHECK (one_row = 1),
  id    TEXT    NOT NULL,
  shown TEXT    NOT NULL
);
