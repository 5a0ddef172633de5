-- Fields of messages from subscribers only: the keyword that was the whole text, and as JSON the parts received, the
-- message an opt-out was asked for with, and the sealed body where the account's policy keeps it.
ALTER TABLE sms_events ADD COLUMN IF NOT EXISTS keyword LowCardinality(String) DEFAULT '' CODEC(ZSTD(1));
ALTER TABLE sms_events ADD COLUMN IF NOT EXISTS inbound String DEFAULT '' CODEC(ZSTD(1));
