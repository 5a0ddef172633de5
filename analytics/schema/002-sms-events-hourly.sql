-- How many events of each kind an hour saw, kept by the database itself as events arrive: reports over long periods
-- read this and not the events, until 006 dropped it. It is fed from the same inserts, under the same deduplication token.
CREATE TABLE IF NOT EXISTS sms_events_hourly
(
    account_id LowCardinality(String),
    hour DateTime('UTC'),
    carrier LowCardinality(String),
    category LowCardinality(String),
    livemode Bool,
    kind LowCardinality(String),
    events UInt64
)
ENGINE = SummingMergeTree(events)
PARTITION BY toYYYYMM(hour)
ORDER BY (account_id, hour, carrier, category, livemode, kind)
SETTINGS non_replicated_deduplication_window = 1000;

CREATE MATERIALIZED VIEW IF NOT EXISTS sms_events_hourly_feed TO sms_events_hourly AS
SELECT account_id, toStartOfHour(at) AS hour, carrier, category, livemode, kind, count() AS events
FROM sms_events
GROUP BY account_id, hour, carrier, category, livemode, kind;
