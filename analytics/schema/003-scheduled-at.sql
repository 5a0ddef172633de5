-- When a message is to go out that does not go at once (send_at, quiet hours); 1970 where there is none. Events from
-- before this column have none either.
ALTER TABLE sms_events ADD COLUMN IF NOT EXISTS scheduled_at DateTime64(3, 'UTC') DEFAULT 0 CODEC(ZSTD(1));
