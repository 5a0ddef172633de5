-- A message's callback_url (`<endpoint id> <url>`; empty for most messages): events that are made from recorded ones go to it as well,
-- and so do replays (docs/decisions/0248-the-event-store-has-the-callback-url.md). It is the last cell of a submit's row.
-- sms_submits is made again, and filled as in 012: after MODIFY QUERY of its view an insert that is repeated with its token
-- by another process doubles the rows of the view (test/analytics/killed-after-insert.test.ts).
ALTER TABLE sms_events ADD COLUMN IF NOT EXISTS callback String DEFAULT '' CODEC(ZSTD(1));

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
        toUnixTimestamp64Milli(accepted_at), toUnixTimestamp64Milli(valid_until), toUnixTimestamp64Milli(scheduled_at), callback) AS row
FROM sms_events
WHERE kind = 'submitted' AND carrier_message_id != '';

INSERT INTO sms_submits (carrier, submit_key, recipient, at, message_id, row)
SETTINGS insert_deduplicate = 0
SELECT carrier, replaceRegexpOne(lowerUTF8(replaceRegexpAll(carrier_message_id, '^\\s+|\\s+$', '')), '^(0x)?0*(.)', '\\2') AS submit_key,
    recipient, at, message_id,
    formatRowNoNewline('TabSeparated', event_id, account_id, key_id, hop, attempt, segment, segments, carrier_message_id, error,
        epoch, category, sender, encoding, livemode, client_reference, campaign_id, variant_id, template_id,
        toUnixTimestamp64Milli(accepted_at), toUnixTimestamp64Milli(valid_until), toUnixTimestamp64Milli(scheduled_at), callback) AS row
FROM sms_events
WHERE kind = 'submitted' AND carrier_message_id != '' AND recorded_at >= fromUnixTimestamp64Milli({from_ms})
    AND recorded_at < fromUnixTimestamp64Milli({to_ms});
