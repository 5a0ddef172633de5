-- Whose callback_url the messages of a granule have: a replay to an endpoint without a type of messages reads only those with
-- its own, and they are few or none (queries/replay-events.ts). Rows from before 013 have an empty one.
ALTER TABLE sms_events ADD INDEX IF NOT EXISTS callback_of substringIndex(callback, ' ', 1) TYPE set(100) GRANULARITY 1;

ALTER TABLE sms_events MATERIALIZE INDEX callback_of;
