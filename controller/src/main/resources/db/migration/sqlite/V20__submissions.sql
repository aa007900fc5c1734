-- By what a request that is sent again is known (see Submission): its namespace's key, which no other flare of that
-- namespace has, and a digest of what was asked for.

ALTER TABLE flare ADD COLUMN submission_key TEXT;
ALTER TABLE flare ADD COLUMN submission_digest TEXT;
CREATE UNIQUE INDEX flare_by_submission ON flare (namespace, submission_key) WHERE submission_key IS NOT NULL;
