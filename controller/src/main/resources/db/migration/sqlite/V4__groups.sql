-- Which flares are groups, whose packs wait for others: they are listed apart.

ALTER TABLE flare ADD COLUMN is_group INTEGER NOT NULL DEFAULT 0;
