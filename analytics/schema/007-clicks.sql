-- Whose a code of a short link is: one row for each link of each message that was accepted with track_clicks. `code` is
-- series × 2^20 + index (model/link-code.ts). A series number is used again when its links have expired. A row that is
-- inserted twice is one.
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
    accepted_at DateTime64(3, 'UTC') CODEC(Delta, ZSTD(1))
)
ENGINE = ReplacingMergeTree
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
    delivered_at DateTime64(3, 'UTC') CODEC(ZSTD(1)),
    class LowCardinality(String),
    reasons Array(LowCardinality(String)),
    user_agent String CODEC(ZSTD(1)),
    address String CODEC(ZSTD(1)),
    recorded_at DateTime64(3, 'UTC') CODEC(Delta, ZSTD(1)),
    INDEX accepted_range accepted_at TYPE minmax GRANULARITY 1
)
ENGINE = MergeTree
PARTITION BY toYYYYMM(accepted_at)
ORDER BY (account_id, at, click_id)
SETTINGS non_replicated_deduplication_window = 1000, ttl_only_drop_parts = 1;
