-- The controller that may write a flare (see FlareStore), and when a namespace's key was revoked.

ALTER TABLE flare ADD COLUMN writer TEXT NOT NULL DEFAULT '';
ALTER TABLE namespace ADD COLUMN revoked BIGINT;
