-- What reports read: messages by half hour of acceptance and by what reports group by, each under its present status, kept
-- by the recorder as signed changes (a late receipt is -1 unknown and +1 delivered), so that a sum is exact whatever has
-- been merged. Their second tables add up six hours, which serve the days of every time zone; they are fed from the same
-- inserts, under the same deduplication token. segments_submitted: segments that carriers were given, each once.
DROP TABLE IF EXISTS sms_events_hourly_feed;

DROP TABLE IF EXISTS sms_events_hourly;

CREATE TABLE IF NOT EXISTS message_counts
(
    account_id LowCardinality(String),
    livemode Bool,
    slot DateTime('UTC') CODEC(Delta, ZSTD(1)),
    category LowCardinality(String),
    carrier LowCardinality(String),
    status LowCardinality(String),
    error LowCardinality(String),
    sender LowCardinality(String),
    encoding LowCardinality(String),
    segments UInt8,
    campaign_id LowCardinality(String),
    variant_id LowCardinality(String),
    messages Int64,
    segments_submitted Int64,
    resent Int64
)
ENGINE = SummingMergeTree((messages, segments_submitted, resent))
PARTITION BY toYYYYMM(slot)
ORDER BY (account_id, livemode, slot, category, carrier, status, error, sender, encoding, segments, campaign_id, variant_id)
SETTINGS non_replicated_deduplication_window = 1000;

CREATE TABLE IF NOT EXISTS message_counts_6h AS message_counts;

CREATE MATERIALIZED VIEW IF NOT EXISTS message_counts_6h_feed TO message_counts_6h AS
SELECT account_id, livemode, toDateTime(intDiv(toUnixTimestamp(slot), 21600) * 21600, 'UTC') AS slot, category, carrier, status, error,
    sender, encoding, segments, campaign_id, variant_id, messages, segments_submitted, resent
FROM message_counts;

-- How long messages took, as counts by buckets that are 5 % wide (latency-buckets.ts).
CREATE TABLE IF NOT EXISTS latency_counts
(
    account_id LowCardinality(String),
    livemode Bool,
    slot DateTime('UTC') CODEC(Delta, ZSTD(1)),
    category LowCardinality(String),
    carrier LowCardinality(String),
    stage LowCardinality(String),
    bucket UInt16,
    messages Int64
)
ENGINE = SummingMergeTree(messages)
PARTITION BY toYYYYMM(slot)
ORDER BY (account_id, livemode, slot, category, carrier, stage, bucket)
SETTINGS non_replicated_deduplication_window = 1000;

CREATE TABLE IF NOT EXISTS latency_counts_6h AS latency_counts;

CREATE MATERIALIZED VIEW IF NOT EXISTS latency_counts_6h_feed TO latency_counts_6h AS
SELECT account_id, livemode, toDateTime(intDiv(toUnixTimestamp(slot), 21600) * 21600, 'UTC') AS slot, category, carrier, stage, bucket,
    messages
FROM latency_counts;

-- Messages accepted before it are in no count: in a store that has events already, the time at which it got its counts.
CREATE TABLE IF NOT EXISTS counted_from (at DateTime64(3, 'UTC')) ENGINE = MergeTree ORDER BY at;

INSERT INTO counted_from SELECT if((SELECT count() FROM sms_events) = 0, toDateTime64(0, 3, 'UTC'), now64(3) + INTERVAL 1 MINUTE);
