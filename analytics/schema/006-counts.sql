-- Messages by half hour of acceptance and by what reports group by, each under its present status, kept by the recorder as
-- signed changes (a late receipt is -1 unknown and +1 delivered), so that a sum is exact whatever has been merged. The
-- tables of tiers are fed from the same inserts, under the same deduplication token. segments_submitted: segments that
-- carriers were given, each once.
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

-- What reports read of them: the same counts without the columns that a report does not show, by half hours and by six
-- hours. A tier names the columns that its rows have; the others are empty (analytics/reports/tiers.ts). All tiers are rows of
-- one table, because an insert costs by the part: the recorder's insert makes one more, however many tiers there are. The
-- feed adds nothing up: the table does.
CREATE TABLE IF NOT EXISTS message_tiers
(
    account_id LowCardinality(String),
    livemode Bool,
    tier LowCardinality(String),
    slot DateTime('UTC') CODEC(Delta, ZSTD(1)),
    category LowCardinality(String),
    carrier LowCardinality(String),
    status LowCardinality(String),
    error LowCardinality(String),
    sender LowCardinality(String),
    encoding LowCardinality(String),
    segments UInt8,
    messages Int64,
    segments_submitted Int64,
    resent Int64
)
ENGINE = SummingMergeTree((messages, segments_submitted, resent))
PARTITION BY toYYYYMM(slot)
ORDER BY (account_id, livemode, tier, slot, category, carrier, status, error, sender, encoding, segments)
SETTINGS non_replicated_deduplication_window = 1000;

CREATE MATERIALIZED VIEW IF NOT EXISTS message_tiers_feed TO message_tiers AS
SELECT account_id, livemode, tier, toDateTime(intDiv(toUnixTimestamp(slot), seconds) * seconds, 'UTC') AS slot, category, carrier,
    if(of_segments, '', status) AS status, if(of_segments, '', error) AS error, if(of_sender, sender, '') AS sender,
    if(of_segments, encoding, '') AS encoding, if(of_segments, segments, 0) AS segments, messages, segments_submitted, resent
FROM
(
    SELECT *, tier, if(endsWith(tier, '_6h'), 21600, 1800) AS seconds, startsWith(tier, 'segments') AS of_segments,
        tier != 'outcomes' AS of_sender
    FROM message_counts
    ARRAY JOIN ['outcomes', 'outcomes_by_sender', 'outcomes_6h', 'segments', 'segments_6h'] AS tier
    WHERE NOT (startsWith(tier, 'segments') AND status = 'refused')
);

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

CREATE TABLE IF NOT EXISTS latency_tiers
(
    account_id LowCardinality(String),
    livemode Bool,
    tier LowCardinality(String),
    slot DateTime('UTC') CODEC(Delta, ZSTD(1)),
    category LowCardinality(String),
    carrier LowCardinality(String),
    stage LowCardinality(String),
    bucket UInt16,
    messages Int64
)
ENGINE = SummingMergeTree(messages)
PARTITION BY toYYYYMM(slot)
ORDER BY (account_id, livemode, tier, slot, category, carrier, stage, bucket)
SETTINGS non_replicated_deduplication_window = 1000;

CREATE MATERIALIZED VIEW IF NOT EXISTS latency_tiers_feed TO latency_tiers AS
SELECT account_id, livemode, tier, toDateTime(intDiv(toUnixTimestamp(slot), seconds) * seconds, 'UTC') AS slot,
    if(of_category, category, '') AS category, if(of_carrier, carrier, '') AS carrier, stage, bucket, messages
FROM
(
    SELECT *, tier, if(endsWith(tier, '_6h'), 21600, 1800) AS seconds, tier IN ('times_by_category', 'times_6h') AS of_category,
        tier IN ('times_by_carrier', 'times_6h') AS of_carrier
    FROM latency_counts
    ARRAY JOIN ['times', 'times_by_category', 'times_by_carrier', 'times_6h'] AS tier
);

-- Messages accepted before it are in no count: in a store that has events already, the time at which it got its counts.
CREATE TABLE IF NOT EXISTS counted_from (at DateTime64(3, 'UTC')) ENGINE = MergeTree ORDER BY at;

INSERT INTO counted_from SELECT if((SELECT count() FROM sms_events) = 0, toDateTime64(0, 3, 'UTC'), now64(3) + INTERVAL 1 MINUTE);
