-- What reports by campaign or variant read of message_counts and click_counts, as 006-counts.sql and 016-click-tiers.sql have their
-- tiers: only what has a campaign. `campaign_id` stands before the time in the keys, because many reports ask for one campaign; its
-- messages are of few days, so the index on the time skips other campaigns. They are fed by views of their own: a view that is changed
-- is fed once more by an insert that is repeated after the upgrade. No message of an older version has a campaign, so nothing is filled.
CREATE TABLE IF NOT EXISTS campaign_message_tiers
(
    account_id LowCardinality(String),
    livemode Bool,
    tier LowCardinality(String),
    campaign_id LowCardinality(String),
    slot DateTime('UTC') CODEC(Delta, ZSTD(1)),
    variant_id LowCardinality(String),
    category LowCardinality(String),
    carrier LowCardinality(String),
    status LowCardinality(String),
    error LowCardinality(String),
    sender LowCardinality(String),
    encoding LowCardinality(String),
    segments UInt8,
    messages Int64,
    segments_submitted Int64,
    resent Int64,
    INDEX slot_range slot TYPE minmax GRANULARITY 1
)
ENGINE = SummingMergeTree((messages, segments_submitted, resent))
PARTITION BY toYYYYMM(slot)
ORDER BY (account_id, livemode, tier, campaign_id, slot, variant_id, category, carrier, status, error, sender, encoding, segments)
SETTINGS non_replicated_deduplication_window = 1000;

CREATE MATERIALIZED VIEW IF NOT EXISTS campaign_message_tiers_feed TO campaign_message_tiers AS
SELECT account_id, livemode, tier, campaign_id, toDateTime(intDiv(toUnixTimestamp(slot), seconds) * seconds, 'UTC') AS slot, variant_id,
    category, carrier, if(of_segments, '', status) AS status, if(of_errors, error, '') AS error, sender,
    if(of_segments, encoding, '') AS encoding, if(of_segments, segments, 0) AS segments, messages, segments_submitted, resent
FROM
(
    SELECT *, tier, if(endsWith(tier, '_6h'), 21600, 1800) AS seconds, startsWith(tier, 'segments') AS of_segments,
        startsWith(tier, 'errors') AS of_errors
    FROM message_counts
    ARRAY JOIN ['outcomes', 'outcomes_6h', 'errors', 'errors_6h', 'segments', 'segments_6h'] AS tier
    WHERE campaign_id != '' AND NOT (startsWith(tier, 'segments') AND status = 'refused')
        AND NOT (startsWith(tier, 'errors') AND status IN ('scheduled', 'accepted', 'submitted', 'delivered', 'canceled'))
);

CREATE TABLE IF NOT EXISTS campaign_click_tiers
(
    account_id LowCardinality(String),
    livemode Bool,
    tier LowCardinality(String),
    what LowCardinality(String),
    classes UInt8,
    campaign_id LowCardinality(String),
    slot DateTime('UTC') CODEC(Delta, ZSTD(1)),
    variant_id LowCardinality(String),
    category LowCardinality(String),
    carrier LowCardinality(String),
    sender LowCardinality(String),
    reasons LowCardinality(String),
    bucket UInt16,
    counts Int64,
    INDEX slot_range slot TYPE minmax GRANULARITY 1
)
ENGINE = SummingMergeTree(counts)
PARTITION BY toYYYYMM(slot)
ORDER BY (account_id, livemode, tier, what, classes, campaign_id, slot, variant_id, category, carrier, sender, reasons, bucket)
SETTINGS non_replicated_deduplication_window = 1000;

CREATE MATERIALIZED VIEW IF NOT EXISTS campaign_click_tiers_feed TO campaign_click_tiers AS
SELECT account_id, livemode, tier, what, classes, campaign_id, toDateTime(intDiv(toUnixTimestamp(slot), seconds) * seconds, 'UTC') AS slot,
    variant_id, category, if(tier = 'reasons', '', carrier) AS carrier, sender, if(of_reasons, reasons, '') AS reasons,
    if(of_times, bucket, 0) AS bucket, counts
FROM
(
    SELECT *, tier, if(endsWith(tier, '_6h'), 21600, 1800) AS seconds, startsWith(tier, 'reasons') AS of_reasons,
        startsWith(tier, 'clicks_by_time') AS of_times
    FROM click_counts
    ARRAY JOIN ['clicks', 'clicks_6h', 'clicks_by_time', 'clicks_by_time_6h', 'reasons', 'reasons_6h'] AS tier
    WHERE campaign_id != '' AND NOT (startsWith(tier, 'reasons') AND what != 'clicks')
);
