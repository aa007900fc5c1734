-- Bytes of inputs that are kept outside of the database; `inputs` is empty then.
ALTER TABLE flare_inputs ADD COLUMN kept BIGINT;
-- The name under which a part of a log is kept outside of the database; `texts` is empty then.
ALTER TABLE flare_log_chunk ADD COLUMN kept TEXT;
