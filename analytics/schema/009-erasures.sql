-- The erasures that this store has carried out, by the keyed hash of the number (model/number-hash.ts). A store that was
-- restored from a backup lacks those since: they are carried out again (analytics/erasure). An empty account: all of them.
CREATE TABLE IF NOT EXISTS erasures
(
    id String,
    recipient_hash UInt64,
    account_id String,
    at DateTime64(3, 'UTC'),
    mark String,
    removed String,
    carried_out_at DateTime64(3, 'UTC') DEFAULT now64(3)
)
ENGINE = ReplacingMergeTree
ORDER BY id;
