-- Submits by the id that the carrier gave, so that a receipt finds its own by reading one granule and not a filter of days.
-- Of each part the order gives the only granule that may have it, and the filter says whether that does. Fed from the same
-- inserts as sms_events, under the same deduplication token.
-- submit_key is the id as model/carrier-message-id.ts `canonical` writes it. How long rows are kept is set at the start
-- (store/retention.ts).
-- A repeat after a crash empties it and fills it again before anything is fed. The last statement is run for each hour of
-- the last five days, so that each ends in time however much there is.
CREATE TABLE IF NOT EXISTS sms_submits
(
    carrier LowCardinality(String),
    submit_key String CODEC(ZSTD(1)),
    recipient String CODEC(ZSTD(1)),
    at DateTime64(3, 'UTC') CODEC(ZSTD(1)),
    event_id FixedString(26),
    kind LowCardinality(String),
    message_id String CODEC(ZSTD(1)),
    account_id LowCardinality(String),
    key_id LowCardinality(String),
    hop UInt8,
    attempt UInt16,
    segment UInt8,
    segments UInt8,
    carrier_message_id String CODEC(ZSTD(1)),
    error LowCardinality(String),
    epoch UInt64,
    category LowCardinality(String),
    sender LowCardinality(String),
    encoding LowCardinality(String),
    livemode Bool,
    client_reference String CODEC(ZSTD(1)),
    campaign_id LowCardinality(String),
    variant_id LowCardinality(String),
    template_id LowCardinality(String),
    accepted_at DateTime64(3, 'UTC') CODEC(ZSTD(1)),
    valid_until DateTime64(3, 'UTC') CODEC(ZSTD(1)),
    scheduled_at DateTime64(3, 'UTC') DEFAULT 0 CODEC(ZSTD(1)),
    INDEX key_filter submit_key TYPE bloom_filter(0.001) GRANULARITY 1
)
ENGINE = MergeTree
PARTITION BY toYYYYMMDD(at)
ORDER BY (carrier, submit_key, recipient)
SETTINGS index_granularity = 1024, non_replicated_deduplication_window = 1000, ttl_only_drop_parts = 1;

TRUNCATE TABLE sms_submits;

CREATE MATERIALIZED VIEW IF NOT EXISTS sms_submits_feed TO sms_submits AS
SELECT carrier, replaceRegexpOne(lowerUTF8(replaceRegexpAll(carrier_message_id, '^\\s+|\\s+$', '')), '^(0x)?0*(.)', '\\2') AS submit_key,
    recipient, at, event_id, kind, message_id, account_id, key_id, hop, attempt, segment, segments, carrier_message_id, error,
    epoch, category, sender, encoding, livemode, client_reference, campaign_id, variant_id, template_id, accepted_at, valid_until,
    scheduled_at
FROM sms_events
WHERE kind = 'submitted' AND carrier_message_id != '';

INSERT INTO sms_submits (carrier, submit_key, recipient, at, event_id, kind, message_id, account_id, key_id, hop, attempt, segment,
    segments, carrier_message_id, error, epoch, category, sender, encoding, livemode, client_reference, campaign_id, variant_id,
    template_id, accepted_at, valid_until, scheduled_at)
SETTINGS insert_deduplicate = 0
SELECT carrier, replaceRegexpOne(lowerUTF8(replaceRegexpAll(carrier_message_id, '^\\s+|\\s+$', '')), '^(0x)?0*(.)', '\\2') AS submit_key,
    recipient, at, event_id, kind, message_id, account_id, key_id, hop, attempt, segment, segments, carrier_message_id, error,
    epoch, category, sender, encoding, livemode, client_reference, campaign_id, variant_id, template_id, accepted_at, valid_until,
    scheduled_at
FROM sms_events
WHERE kind = 'submitted' AND carrier_message_id != '' AND recorded_at >= fromUnixTimestamp64Milli({from_ms})
    AND recorded_at < fromUnixTimestamp64Milli({to_ms});
