-- A page of a list is found by the index alone, however much is skipped: it holds all that is asked for and sorted by.

DROP INDEX flare_by_begin;
DROP INDEX flare_by_name_and_begin;
CREATE INDEX flare_by_begin ON flare (namespace, begun, id) WHERE begun IS NOT NULL;
CREATE INDEX flare_by_name_and_begin ON flare (namespace, name, begun, id) WHERE begun IS NOT NULL;
