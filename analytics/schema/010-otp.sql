-- One-time passwords: one row for each version of its state (model/fact.ts), of which the highest is all there is to know. A
-- row that is inserted twice is one. `prefix` is the number without its last six digits; whole numbers are not kept here.
-- Read with FINAL, so a report is exact whatever was repeated and whatever has been merged.
CREATE TABLE IF NOT EXISTS otps
(
    account_id LowCardinality(String),
    livemode Bool,
    started_at DateTime64(3, 'UTC') CODEC(Delta, ZSTD(1)),
    otp_id String CODEC(ZSTD(1)),
    version UInt64,
    status LowCardinality(String),
    reason LowCardinality(String),
    purpose LowCardinality(String),
    language LowCardinality(String),
    sender LowCardinality(String),
    prefix LowCardinality(String),
    own_code Bool,
    attempts UInt8,
    message_ids Array(String) CODEC(ZSTD(1)),
    expires_at DateTime64(3, 'UTC') CODEC(Delta, ZSTD(1)),
    ended_at DateTime64(3, 'UTC') CODEC(ZSTD(1))
)
ENGINE = ReplacingMergeTree(version)
PARTITION BY toYYYYMM(started_at)
ORDER BY (account_id, livemode, started_at, otp_id)
SETTINGS index_granularity = 1024, ttl_only_drop_parts = 1;

-- What the guard against fraud decided, with its figures. `scope` is a prefix of numbers, `ip`, `device` or a carrier; never an address.
CREATE TABLE IF NOT EXISTS otp_guard_decisions
(
    account_id LowCardinality(String),
    livemode Bool,
    at DateTime64(3, 'UTC') CODEC(Delta, ZSTD(1)),
    event_id FixedString(26),
    what LowCardinality(String),
    rule LowCardinality(String),
    action LowCardinality(String),
    mode LowCardinality(String),
    scope String CODEC(ZSTD(1)),
    prefix LowCardinality(String),
    statistic Float64,
    threshold Float64,
    times UInt16,
    until DateTime64(3, 'UTC') CODEC(ZSTD(1)),
    released LowCardinality(String)
)
ENGINE = ReplacingMergeTree
PARTITION BY toYYYYMM(at)
ORDER BY (account_id, livemode, at, event_id)
SETTINGS index_granularity = 1024, ttl_only_drop_parts = 1;

-- What became of the messages of one-time passwords at carriers. Fed from the same inserts as sms_events.
CREATE TABLE IF NOT EXISTS otp_messages
(
    account_id LowCardinality(String),
    livemode Bool,
    accepted_at DateTime64(3, 'UTC') CODEC(Delta, ZSTD(1)),
    message_id String CODEC(ZSTD(1)),
    kind LowCardinality(String),
    hop UInt8,
    carrier LowCardinality(String),
    at DateTime64(3, 'UTC') CODEC(Delta, ZSTD(1))
)
ENGINE = ReplacingMergeTree
PARTITION BY toYYYYMM(accepted_at)
ORDER BY (account_id, livemode, accepted_at, message_id, kind, hop, carrier)
SETTINGS index_granularity = 1024, non_replicated_deduplication_window = 1000, ttl_only_drop_parts = 1;

CREATE MATERIALIZED VIEW IF NOT EXISTS otp_messages_feed TO otp_messages AS
SELECT account_id, livemode, accepted_at, message_id, kind, hop, carrier, at
FROM sms_events
WHERE category = 'otp'
    AND kind IN ('submitted', 'delivered', 'undelivered', 'expired', 'rejected', 'failed', 'blocked', 'canceled');
