-- sms_submits with most of its event in one column: a look-up reads six columns of a granule and not 27, and takes a third
-- less time (docs/decisions/0246-submits-in-one-column.md). The table is made again, and filled as in 005.
-- row is a line of TabSeparated; store/submit-row.ts reads it.
DROP VIEW IF EXISTS sms_submits_feed SYNC;

DROP TABLE IF EXISTS sms_submits SYNC;

CREATE TABLE sms_submits
(
    carrier LowCardinality(String),
    submit_key String CODEC(ZSTD(1)),
    recipient String CODEC(ZSTD(1)),
    at DateTime64(3, 'UTC') CODEC(ZSTD(1)),
    message_id String CODEC(ZSTD(1)),
    row String CODEC(ZSTD(1)),
    INDEX key_filter submit_key TYPE bloom_filter(0.001) GRANULARITY 1
)
ENGINE = MergeTree
PARTITION BY toYYYYMMDD(at)
PRIMARY KEY submit_key
ORDER BY (submit_key, carrier, recipient)
SETTINGS index_granularity = 1024, non_replicated_deduplication_window = 1000, ttl_only_drop_parts = 1;

CREATE MATERIALIZED VIEW sms_submits_feed TO sms_submits AS
SELECT carrier, replaceRegexpOne(lowerUTF8(replaceRegexpAll(carrier_message_id, '^\\s+|\\s+$', '')), '^(0x)?0*(.)', '\\2') AS submit_key,
    recipient, at, message_id,
    formatRowNoNewline('TabSeparated', event_id, account_id, key_id, hop, attempt, segment, segments, carrier_message_id, error,
        epoch, category, sender, encoding, livemode, client_reference, campaign_id, variant_id, template_id,
        toUnixTimestamp64Milli(accepted_at), toUnixTimestamp64Milli(valid_until), toUnixTimestamp64Milli(scheduled_at)) AS row
FROM sms_events
WHERE kind = 'submitted' AND carrier_message_id != '';

INSERT INTO sms_submits (carrier, submit_key, recipient, at, message_id, row)
SETTINGS insert_deduplicate = 0
SELECT carrier, replaceRegexpOne(lowerUTF8(replaceRegexpAll(carrier_message_id, '^\\s+|\\s+$', '')), '^(0x)?0*(.)', '\\2') AS submit_key,
    recipient, at, message_id,
    formatRowNoNewline('TabSeparated', event_id, account_id, key_id, hop, attempt, segment, segments, carrier_message_id, error,
        epoch, category, sender, encoding, livemode, client_reference, campaign_id, variant_id, template_id,
        toUnixTimestamp64Milli(accepted_at), toUnixTimestamp64Milli(valid_until), toUnixTimestamp64Milli(scheduled_at)) AS row
FROM sms_events
WHERE kind = 'submitted' AND carrier_message_id != '' AND recorded_at >= fromUnixTimestamp64Milli({from_ms})
    AND recorded_at < fromUnixTimestamp64Milli({to_ms});
