-- The store that took over the flares last: no other may add any.

ALTER TABLE scheduler_epoch ADD COLUMN writer TEXT;
