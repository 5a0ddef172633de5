-- The messages of erased numbers, whether their events were deleted or left out (analytics/erasure): by their ids the codes and
-- clicks of their links are deleted, which another stream brings, some of them after the first run of the erasure. Its second run,
-- days later, needs them still.
CREATE TABLE IF NOT EXISTS erased_messages
(
    message_id String CODEC(ZSTD(1)),
    recipient_hash UInt64,
    account_id LowCardinality(String),
    accepted_at DateTime64(3, 'UTC'),
    noted_at DateTime('UTC') DEFAULT now()
)
ENGINE = ReplacingMergeTree
ORDER BY (recipient_hash, message_id)
TTL noted_at + toIntervalDay(30);
