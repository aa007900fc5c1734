-- Logs are kept in chunks of many lines (see LogChunk), numbered per flare from 0 on. `log_chunks` is the next number;
-- it never goes back. A line that was a row becomes a chunk of its own.

CREATE TABLE flare_log_chunk (
  flare_id TEXT   NOT NULL REFERENCES flare (id) ON DELETE CASCADE,
  number   BIGINT NOT NULL,
  texts    BYTEA  NOT NULL,
  PRIMARY KEY (flare_id, number)
);

INSERT INTO flare_log_chunk (flare_id, number, texts)
  SELECT flare_id,
    row_number() OVER (PARTITION BY flare_id ORDER BY id) - 1,
    convert_to(coalesce(worker::text, '-') || ' ' || pack || ' ' || stream || ' ' || at || ' ' || octet_length(line)
      || chr(10), 'UTF8') || line
  FROM flare_log;
DROP TABLE flare_log;

ALTER TABLE flare ADD COLUMN log_chunks BIGINT NOT NULL DEFAULT 0;
UPDATE flare SET log_chunks = (SELECT count(*) FROM flare_log_chunk WHERE flare_id = flare.id);
