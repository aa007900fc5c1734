-- How many schedulers there have been: the present one has the highest number.

CREATE TABLE scheduler_epoch (
  id    INTEGER NOT NULL PRIMARY KEY CHECK (id = 1),
  epoch BIGINT  NOT NULL
);
