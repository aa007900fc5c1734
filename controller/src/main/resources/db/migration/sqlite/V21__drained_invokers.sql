-- Machines that are given no more flares until the administrator resumes them.

CREATE TABLE drained_invoker (
    id TEXT PRIMARY KEY,
    since INTEGER NOT NULL
);
