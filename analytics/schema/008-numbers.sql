-- Subscribers' numbers by their keyed hash (model/number-hash.ts; 0: no number in full), by which they are found after
-- their digits are cut off (store/trim.ts). The other two columns say what there is to cut off, so that finding it reads
-- no rows that are done.
ALTER TABLE sms_events ADD COLUMN IF NOT EXISTS recipient_hash UInt64 DEFAULT 0 CODEC(ZSTD(1));
ALTER TABLE sms_events ADD COLUMN IF NOT EXISTS recipient_clear Bool DEFAULT startsWith(recipient, '+') AND position(recipient, '*') = 0;
ALTER TABLE sms_events ADD COLUMN IF NOT EXISTS text_kept Bool DEFAULT position(inbound, '"body"') > 0;
ALTER TABLE sms_events ADD INDEX IF NOT EXISTS hash_filter recipient_hash TYPE bloom_filter(0.01) GRANULARITY 4;
ALTER TABLE sms_events ADD INDEX IF NOT EXISTS clear_range recipient_clear TYPE minmax GRANULARITY 1;
ALTER TABLE sms_events ADD INDEX IF NOT EXISTS text_range text_kept TYPE minmax GRANULARITY 1;
ALTER TABLE sms_events DROP INDEX IF EXISTS recipient_filter;
