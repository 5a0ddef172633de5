-- Whose a code of a short link is: one row for each link of each message that was accepted with track_clicks. `code` is
-- series × 2^20 + index (model/link-code.ts). A series number is used again when its links have expired. `due_at`: when the
-- message was to be sent, its acceptance or the time it was scheduled for. `insert_token` names the insert of a row, so
-- that a repeated insert is distinguished from a record that came twice.
CREATE TABLE IF NOT EXISTS link_codes
(
    code UInt64 CODEC(Delta, ZSTD(1)),
    message_id String CODEC(ZSTD(1)),
    account_id LowCardinality(String),
    livemode Bool,
    link_id String CODEC(ZSTD(1)),
    url String CODEC(ZSTD(1)),
    category LowCardinality(String),
    sender LowCardinality(String),
    carrier LowCardinality(String),
    campaign_id LowCardinality(String),
    variant_id LowCardinality(String),
    template_id LowCardinality(String),
    accepted_at DateTime64(3, 'UTC') CODEC(Delta, ZSTD(1)),
    due_at DateTime64(3, 'UTC') CODEC(Delta, ZSTD(1)),
    insert_token String CODEC(ZSTD(1)),
    PROJECTION of_messages (SELECT message_id, code, insert_token ORDER BY message_id)
)
ENGINE = MergeTree
PARTITION BY toYYYYMM(accepted_at)
ORDER BY (code, message_id)
SETTINGS index_granularity = 1024, non_replicated_deduplication_window = 1000, ttl_only_drop_parts = 1;

-- Every request for a code that led somewhere, with its class and the reasons for it. Without a message: a code that was
-- never sent. `address` is empty unless links.store_addresses says otherwise. The hour of accepted_at is its cohort.
CREATE TABLE IF NOT EXISTS link_clicks
(
    account_id LowCardinality(String),
    at DateTime64(3, 'UTC') CODEC(Delta, ZSTD(1)),
    click_id String CODEC(ZSTD(1)),
    livemode Bool,
    link_id String CODEC(ZSTD(1)),
    url String CODEC(ZSTD(1)),
    code UInt64,
    message_id String CODEC(ZSTD(1)),
    category LowCardinality(String),
    sender LowCardinality(String),
    carrier LowCardinality(String),
    campaign_id LowCardinality(String),
    variant_id LowCardinality(String),
    template_id LowCardinality(String),
    accepted_at DateTime64(3, 'UTC') CODEC(Delta, ZSTD(1)),
    due_at DateTime64(3, 'UTC') CODEC(Delta, ZSTD(1)),
    delivered_at DateTime64(3, 'UTC') CODEC(ZSTD(1)),
    class LowCardinality(String),
    reasons Array(LowCardinality(String)),
    user_agent String CODEC(ZSTD(1)),
    address String CODEC(ZSTD(1)),
    recorded_at DateTime64(3, 'UTC') CODEC(Delta, ZSTD(1)),
    insert_token String CODEC(ZSTD(1)),
    PROJECTION of_messages (SELECT message_id, class, at, insert_token ORDER BY message_id),
    INDEX accepted_range accepted_at TYPE minmax GRANULARITY 1
)
ENGINE = MergeTree
PARTITION BY toYYYYMM(accepted_at)
ORDER BY (account_id, at, click_id)
SETTINGS non_replicated_deduplication_window = 1000, ttl_only_drop_parts = 1;

-- What the reports of clicks read, kept as 006-counts.sql keeps its counts: signed changes by half hour of acceptance, and a
-- second table of six hours. `what` is messages (with short links, each once), clicks (of one class, with their reasons) or
-- first_click: messages by the time from due_at to their first click of some classes (latency-buckets.ts). `classes`: human 1,
-- preview 2, scanner 4, unknown 8, added up; a message has a first click for every choice of classes that one of its clicks has.
CREATE TABLE IF NOT EXISTS click_counts
(
    account_id LowCardinality(String),
    livemode Bool,
    slot DateTime('UTC') CODEC(Delta, ZSTD(1)),
    category LowCardinality(String),
    carrier LowCardinality(String),
    sender LowCardinality(String),
    campaign_id LowCardinality(String),
    variant_id LowCardinality(String),
    what LowCardinality(String),
    classes UInt8,
    reasons LowCardinality(String),
    bucket UInt16,
    counts Int64
)
ENGINE = SummingMergeTree(counts)
PARTITION BY toYYYYMM(slot)
ORDER BY (account_id, livemode, slot, category, carrier, sender, campaign_id, variant_id, what, classes, reasons, bucket)
SETTINGS non_replicated_deduplication_window = 1000;

CREATE TABLE IF NOT EXISTS click_counts_6h AS click_counts;

CREATE MATERIALIZED VIEW IF NOT EXISTS click_counts_6h_feed TO click_counts_6h AS
SELECT account_id, livemode, toDateTime(intDiv(toUnixTimestamp(slot), 21600) * 21600, 'UTC') AS slot, category, carrier, sender,
    campaign_id, variant_id, what, classes, reasons, bucket, counts
FROM click_counts;
