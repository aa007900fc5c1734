-- Bytes of an output that is kept outside of the database; `output` is null then.
ALTER TABLE flare_result ADD COLUMN output_kept BIGINT;
