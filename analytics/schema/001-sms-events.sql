-- Every delivery event of every message, one row each; bodies are never stored here. A null of an event is '' here: no
-- carrier id, error or reference is ever empty. (stream_epoch, stream_seq, batch_index) is the event's place in the
-- stream, and so the order in which events are folded. The deduplication window remembers the tokens of that many
-- inserts; the recorder repeats at most the last one. Live and test messages have partitions of their own, because they are
-- kept for different times (store/retention.ts).
CREATE TABLE IF NOT EXISTS sms_events
(
    account_id LowCardinality(String),
    message_id String CODEC(ZSTD(1)),
    stream_seq UInt64 CODEC(Delta, ZSTD(1)),
    batch_index UInt16,
    stream_epoch UInt64 CODEC(DoubleDelta, LZ4),
    event_id FixedString(26),
    kind LowCardinality(String),
    at DateTime64(3, 'UTC') CODEC(Delta, ZSTD(1)),
    key_id LowCardinality(String),
    carrier LowCardinality(String),
    hop UInt8,
    attempt UInt16,
    segment UInt8,
    segments UInt8,
    carrier_message_id String,
    error LowCardinality(String),
    epoch UInt64,
    category LowCardinality(String),
    sender LowCardinality(String),
    recipient String,
    encoding LowCardinality(String),
    livemode Bool,
    client_reference String,
    campaign_id LowCardinality(String),
    variant_id LowCardinality(String),
    template_id LowCardinality(String),
    accepted_at DateTime64(3, 'UTC') CODEC(Delta, ZSTD(1)),
    valid_until DateTime64(3, 'UTC') CODEC(Delta, ZSTD(1)),
    recorded_at DateTime64(3, 'UTC') CODEC(Delta, LZ4),
    INDEX accepted_range accepted_at TYPE minmax GRANULARITY 1,
    INDEX valid_range valid_until TYPE minmax GRANULARITY 1,
    INDEX recorded_range recorded_at TYPE minmax GRANULARITY 1,
    INDEX place_range stream_seq TYPE minmax GRANULARITY 1,
    INDEX recipient_filter recipient TYPE bloom_filter(0.01) GRANULARITY 4
)
ENGINE = MergeTree
PARTITION BY (toYYYYMM(accepted_at), livemode)
ORDER BY (account_id, message_id, stream_seq, batch_index)
SETTINGS non_replicated_deduplication_window = 1000;
