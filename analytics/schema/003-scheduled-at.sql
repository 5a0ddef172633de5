-- When a scheduled or held message is to be sent (send_at, quiet hours); 1970 for others. Events from
-- before this column have none either.
ALTER TABLE sms_events ADD COLUMN IF NOT EXISTS scheduled_at DateTime64(3, 'UTC') DEFAULT 0 CODEC(ZSTD(1));
