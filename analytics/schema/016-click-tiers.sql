-- What the reports of clicks read of click_counts, as 006-counts.sql has its tiers: `clicks` without the reasons and the campaign, so
-- that a report reads no row for each sign and each of 15 choices; `reasons` has only the clicks, with their reasons; each by half hours
-- and by six hours. `classes` stands before the time in the key, because a report asks for the first clicks of one choice.
CREATE TABLE IF NOT EXISTS click_tiers
(
    account_id LowCardinality(String),
    livemode Bool,
    tier LowCardinality(String),
    what LowCardinality(String),
    classes UInt8,
    slot DateTime('UTC') CODEC(Delta, ZSTD(1)),
    category LowCardinality(String),
    carrier LowCardinality(String),
    sender LowCardinality(String),
    reasons LowCardinality(String),
    bucket UInt16,
    counts Int64
)
ENGINE = SummingMergeTree(counts)
PARTITION BY toYYYYMM(slot)
ORDER BY (account_id, livemode, tier, what, classes, slot, category, carrier, sender, reasons, bucket)
SETTINGS non_replicated_deduplication_window = 1000;

CREATE MATERIALIZED VIEW IF NOT EXISTS click_tiers_feed TO click_tiers AS
SELECT account_id, livemode, tier, what, classes, toDateTime(intDiv(toUnixTimestamp(slot), seconds) * seconds, 'UTC') AS slot, category,
    carrier, sender, if(startsWith(tier, 'reasons'), reasons, '') AS reasons, bucket, counts
FROM
(
    SELECT *, tier, if(endsWith(tier, '_6h'), 21600, 1800) AS seconds
    FROM click_counts
    ARRAY JOIN if(what = 'clicks', ['clicks', 'clicks_6h', 'reasons', 'reasons_6h'], ['clicks', 'clicks_6h']) AS tier
);

-- The counts of an older version: the view above is fed by later inserts only.
FILL click_tiers_feed;

DROP TABLE IF EXISTS click_counts_6h_feed;

DROP TABLE IF EXISTS click_counts_6h;
