-- Invocations are listed by when they began, which is known at their end; flares that are none have no such time.
-- What is no flare (a sequence as a whole, a trigger that fired) has a record, too, which no scheduler sees: its
-- state is `open`, `closed` or `abandoned`, and all there is to say of it stands in `progress`. While it is open its
-- controller renews its lease; once that is over, the controller is no more.

ALTER TABLE flare ADD COLUMN begun BIGINT;
ALTER TABLE flare ADD COLUMN is_record INTEGER NOT NULL DEFAULT 0;
ALTER TABLE flare ADD COLUMN lease BIGINT;
CREATE INDEX flare_by_begin ON flare (namespace, begun) WHERE begun IS NOT NULL;
CREATE INDEX flare_by_name_and_begin ON flare (namespace, name, begun) WHERE begun IS NOT NULL;
CREATE INDEX flare_by_lease ON flare (lease) WHERE lease IS NOT NULL;
