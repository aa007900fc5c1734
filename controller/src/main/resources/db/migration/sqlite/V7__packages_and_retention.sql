-- Where the bytes of each package lie (see PackageIndex), and copies of packages that are being stored. A
-- package without a tag was stored by an earlier version.

CREATE TABLE package (
  id  TEXT NOT NULL PRIMARY KEY,
  tag TEXT NOT NULL
);
CREATE TABLE package_upload (
  id    TEXT   NOT NULL,
  tag   TEXT   NOT NULL,
  begun BIGINT NOT NULL,
  PRIMARY KEY (id, tag)
);
INSERT INTO package (id, tag)
  SELECT package_id, '' FROM definition
  UNION
  SELECT package_id, '' FROM flare WHERE ended IS NULL;

-- Bytes a flare takes here, and what retention looks for: each namespace's own ended flares, by their end.

ALTER TABLE flare ADD COLUMN stored_bytes BIGINT NOT NULL DEFAULT 0;
UPDATE flare SET stored_bytes = log_bytes;
DROP INDEX flare_by_end;
CREATE INDEX flare_by_namespace_and_end ON flare (namespace, ended, stored_bytes) WHERE ended IS NOT NULL;

-- Whether an administrator has made or replaced a namespace's key; else a start of the platform made it.

ALTER TABLE namespace ADD COLUMN administered INTEGER NOT NULL DEFAULT 0;
