-- What the reports of one-time passwords read of times that are over (docs/decisions/0253-summaries-of-one-time-passwords.md): for
-- each account and each ten minutes of starts, one row with all groups of one-time passwords and how many each group has. A row that is
-- computed again takes the place of the one before, as a whole. `by_prefix`: its groups are told apart by the prefix of the number, too.
-- `late_changes`: how many of the changes in otp_late_changes it includes. took_buckets and took_counts say how
-- many were verified within which time (latency-buckets.ts).
CREATE TABLE IF NOT EXISTS otp_summaries
(
    account_id LowCardinality(String),
    livemode Bool,
    by_prefix Bool,
    ten_minutes DateTime('UTC') CODEC(Delta, ZSTD(1)),
    late_changes UInt64,
    groups Nested
    (
        carrier LowCardinality(String),
        sender LowCardinality(String),
        prefix LowCardinality(String),
        language LowCardinality(String),
        purpose LowCardinality(String),
        status LowCardinality(String),
        reason LowCardinality(String),
        submitted Bool,
        delivered Bool,
        for_trust Bool,
        otps UInt32,
        sends UInt32,
        took_buckets Array(UInt16),
        took_counts Array(UInt32)
    )
)
ENGINE = ReplacingMergeTree(late_changes)
PARTITION BY toYYYYMM(ten_minutes)
ORDER BY (account_id, livemode, by_prefix, ten_minutes)
SETTINGS index_granularity = 256, ttl_only_drop_parts = 1;

-- How often rows of a time changed after it may have been summarized: a summary that includes fewer changes is not read. Written by the
-- recorders after the rows can be read and before these are acked. A repeated insert is one more change, and does no harm.
CREATE TABLE IF NOT EXISTS otp_late_changes
(
    account_id LowCardinality(String),
    livemode Bool,
    ten_minutes DateTime('UTC') CODEC(Delta, ZSTD(1)),
    changes UInt64
)
ENGINE = SummingMergeTree(changes)
PARTITION BY toYYYYMM(ten_minutes)
ORDER BY (account_id, livemode, ten_minutes)
SETTINGS index_granularity = 1024, ttl_only_drop_parts = 1;

-- All that was started before it is summarized, unless it is in otp_late_changes.
CREATE TABLE IF NOT EXISTS otp_summarized (id UInt8, summarized_to DateTime('UTC'))
ENGINE = ReplacingMergeTree(summarized_to)
ORDER BY id;
