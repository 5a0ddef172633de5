// Bounds of keeping and erasing. Read as `limits.retention` and `limits.erasure`; what an operator chooses within them
// is `retention` of heliograph.yaml.
export const retentionLimits = {
  retention: {
    daysMax: 3_650,
    /** Receipts find their submit by the clear number for five days: cut numbers are older (store/retention.ts). */
    clearDaysMin: 7,
    /** A month of what endpoints did not take, within the stream's size. */
    webhookDaysMax: 30,
    /** A partition is changed at most once a day, so at most 31 times and a last time at its end. */
    trimEveryMs: 86_400_000,
    /** The first one after a start; a restart every few minutes does not change partitions all the time. */
    trimFirstMs: 60_000,
    /** The longest that a change of rows is waited for; ClickHouse goes on with it. */
    mutationMs: 600_000,
  },
  erasure: {
    /** Erasures that are kept, ~300 B each: one a minute for two months. */
    keptMax: 100_000,
    bucketBytes: 2 ** 26,
    /** Hashes of numbers a recorder remembers: 2 × 50,000 × ~100 B = 10 MB. */
    hashesHeldMax: 50_000,
    hashesHeldMs: 60_000,
    /** Of a person: messages in one statement that deletes them. */
    messagesAtOnce: 2_000,
    /** The whole of it, mutations included. */
    deadlineMs: 1_800_000,
    /** The control role looks so often for new erasures, with one request. */
    lookEveryMs: 1_000,
    /** A wait of a message that ends sooner is left to its releaser, which may have it in hand. */
    releaseAheadMs: 10_000,
    /** What was in flight has ended by then: validity, receipts and parked receipts take four days. */
    lookAgainMs: 5 * 86_400_000,
  },
} as const;
