// Bounds of delivery events: recording them in the event store, queries, the search for messages without a receipt,
// keeping and erasing. Read as `limits`.
import { assert } from './assert.ts';

export const recordLimits = {
  recorder: {
    /** One insert: 20,000 rows × ~140 B in columns = 2.8 MB. Larger ones cost less per row but cause noticeable pauses. */
    insertRowsMax: 20_000,
    insertEveryMs: 1_500,
    /** One insert running, one ready, one collecting; × ~1.5 KiB in memory = 90 MB. Then reading stops. */
    heldRowsMax: 60_000,
    /** Records prefetched by the client: 128 × at most 256 KiB = 32 MB. */
    prefetchRecords: 128,
    /** An insert that takes longer counts as unknown and is repeated under the same token. */
    insertTimeoutMs: 30_000,
    /** One statement of an upgrade, which may fill a table with an hour of another. */
    schemaStatementMs: 300_000,
    /** The process that upgrades the schema writes its entry so often; after a silence of the second, another one may take over. */
    upgradeHeartbeatMs: 5_000,
    upgradeSilentMs: 20_000,
    /** Rows of one insert into a table that is filled: × ~100 B as text = 10 MB. */
    fillRowsMax: 100_000,
    /** When a filled table could not be compared with its source, it is tried again after this. */
    fillAgainMs: 10_000,
    retryBaseMs: 200,
    retryCapMs: 10_000,
    /**
     * When the last answer about the progress is older, an insert first asks whether another recorder has taken over: a
     * process that stood still must not insert under a token that ClickHouse has forgotten (1,000 inserts, some 8 min).
     */
    confirmAfterMs: 10_000,
    /** Two generations of 2^21 slots × 8 B = 32 MB; at 60 % full each remembers 1.25 million events. */
    seenSlotsPerGeneration: 2 ** 21,
    /** Two generations of 2^20 slots × 32 B = 64 MB; at 60 % full each remembers 630,000 messages. */
    countedSlotsPerGeneration: 2 ** 20,
    /** Events read back at the start; older ones are looked up in the store. 400,000 × 12 B in transit. */
    seenRefillMax: 400_000,
    seenRefillMs: 15 * 60_000,
    /** Clocks of nodes may differ by this much before an event could be counted twice. */
    clockSkewMsMax: 30_000,
    /** Messages in one look-up of old events: × ~33 B stays below the 256 KiB a statement may have. */
    lookupMessagesMax: 4_000,
    /** How long publishing an unreadable record to DEAD is retried; then the record stays in EVENTS, with an alarm. */
    deadTimeoutMs: 60_000,
    purgeEveryMs: 10_000,
    /** EVENTS is purged of so much at once, one file of nats-server, or of this share of what may be purged, if that is more. */
    purgeBytes: 8 * 1024 * 1024,
    purgeShare: 0.25,
    /** A recorder that is later than the first of these does not yield the processor, until it is below the other. */
    yieldsUntilLateMs: 1_500,
    yieldsAgainBelowMs: 500,
    /** When events wait and no insert succeeds for so long, the health of analytics says so, and an alarm after the other. */
    waitsTooLongMs: 10_000,
    alarmAfterMs: 60_000,
    /** Above this fill share of EVENTS an alarm is raised: the ingress is about to answer 503. */
    streamAlarmRatio: 0.8,
    /** Up to this fill share EVENTS keeps records for durable consumers that are not this system's. */
    foreignReadersRatio: 0.5,
  },
  queries: {
    /** A query is answered within this, or fails as unavailable. */
    deadlineMs: 2_000,
    /** One statement for an account: below the deadline, so that receipts are looked up in time meanwhile. */
    shownMsMax: 1_500,
    /** Of the 2 GB that the engine may have; statements of other accounts do not run meanwhile. */
    shownMemoryBytesMax: 400_000_000,
    /** Pending queries; × a few KiB. Further ones fail as unavailable. */
    heldMax: 1_000,
    /** Messages of one page of a replay to webhooks: 50 × ~20 events of segments × ~500 B stay under 1 MiB. */
    replayMessagesMax: 50,
    /** The same of one-time passwords, blocks and clicks: 200 × ~2.5 KiB, most of it the URL of a click, stay under 1 MiB. */
    replayFactsMax: 200,
    /** Rows of which one statement of a replay finds those of its page, some 100 ms. */
    replayRowsMax: 1_000_000,
    /** The shortest time of rows that it reads, however many they are: 1.5 million at 5,000 messages a second. */
    replaySpanMsMin: 60_000,
    /** Messages read by one statement, for all queries together. */
    messagesPerReadMax: 100,
    /** Receipts whose submits are searched by one statement, some 20 ms each: a quarter of the deadline. */
    submitsPerReadMax: 25,
    /**
     * A query that has waited this long when the next statement begins fails as unavailable: the rest of the deadline is
     * for the statement.
     */
    statementWaitMsMax: 1_000,
    /** How long clients' look-ups are gathered for one statement: 50 statements a second at most. */
    gatherMs: 20,
    listLimitDefault: 20,
    listLimitMax: 100,
    /** Messages read for one page when a filter applies only after folding; more while none was found. */
    listScannedMax: 1_000,
    /** Search time for the first message: half of the deadline, because one more statement may have started. */
    listSearchMs: 1_000,
    /** Events that one statement searches for those of a page, some 20 ms. */
    listWindowRows: 20_000,
    /** The window doubles until it fills the page, up to some 150 ms: the longest that a list occupies the engine. */
    listWindowRowsMax: 320_000,
    /** How far an id may be ahead of its message's time: by a client's clock (automaticKeyAheadMs) and two nodes'. */
    idAheadMsMax: 60_000,
    /** How far it may be behind: a request under an idempotency key may be repeated up to a day later. */
    idBehindMsMax: 25 * 3_600_000,
    /** The recorder may not have read a message this young yet: a query for it waits a moment. */
    youngMs: 10_000,
    /** How far its time may be ahead of this node's clock: another node made its id. */
    aheadMs: 1_000,
    youngWaitMs: 1_000,
    waitersMax: 500,
    /** How long a query waits until the recorder has read what EVENTS held when it arrived; usually a few ms. */
    catchUpMs: 500,
    /** How long a node waits for the answer of the recording node; the rest of the deadline is for its own query. */
    passOnMs: 1_600,
  },
  reports: {
    /** × ~400 B as JSON: 20 MB of one report. */
    rowsMax: 50_000,
    memoryBytesMax: 400_000_000,
    /** A report that reads more one-time passwords, and does not end in time, is too large; one that reads fewer may succeed later. */
    readRowsMax: 300_000,
    /** The same for the events that the report of hedged ones reads: 1.5 s of a processor, where all are of one-time passwords. */
    readEventsMax: 10_000_000,
    /** The same for the groups that it reads of summaries (analytics/reports/otp-summaries.ts): 1.3 s of a processor. */
    readGroupsMax: 6_000_000,
    /** In the embedded engine other reports wait for it. Below a query's deadline. */
    statementMsMax: 1_500,
    /** With the wait for other reports; then it fails as unavailable. */
    deadlineMs: 6_000,
    /** One part on its way to a client: well below nats-server's max_payload of 1 MiB. */
    partBytes: 256 * 1024,
    /** How long a report waits for the next part to be fetched: as long as a client may stall. */
    heldMs: 15_000,
    /** How long the API waits for a part. */
    partMs: 5_000,
    daysMax: 366,
    /** Grouped by hour. */
    hourlyDaysMax: 62,
  },
  exports: {
    /**
     * Two campaigns of a million messages with five events each. Nothing is held for the length of an export but ~6 KiB of each
     * slice of a Parquet file, 2.4 MB; it bounds how long one takes its turns at the engine: 400 slices of two statements.
     */
    rowsMax: 10_000_000,
    daysMax: 31,
    /** Read by one statement, × ~800 B as JSON: 20 MB, as a report, which a slice counts as. */
    sliceRowsMax: 25_000,
    /** More where rows share the value that slices are cut at: counts of one half hour, which are not yet added up. */
    sliceRowsTiedMax: 100_000,
    /** How long a running export asks again for a slice that it did not get: as long as the event store needs to restart. */
    sliceWaitMs: 60_000,
    sliceRetryMs: 500,
    /** From its first octet to its last; then it is cut off. */
    lastsMsMax: 3_600_000,
  },
  /** SQL of the operator on the embedded engine, one statement at a time beside the recorder. */
  operatorSql: {
    statementOctetsMax: 64 * 1024,
    /** A statement's own time on one thread: two cores have the recorder on the other. */
    statementMsMax: 10_000,
    /** With the statements before it. */
    deadlineMs: 30_000,
    waitingMax: 3,
    /** Of the 2 GB that the engine may have. */
    memoryBytesMax: 400_000_000,
    rowsMax: 100_000,
    /** × (waitingMax + the answers on their way to slow clients, connectionsMax) = 160 MB. */
    octetsMax: 20_000_000,
    connectionsMax: 8,
    requestMs: 10_000,
    detailCharsMax: 1_000,
  },
  reaper: {
    /** Interval when nothing was due; while messages are due it continues without a pause. */
    everyMs: 60_000,
    retryMs: 5_000,
    /** × ~100 B; after a crash at most this many are repeated, without effect. */
    messagesPerPageMax: 5_000,
    /** Span of due times that one statement reads: halved when the statement was slow, failed, or filled its page. */
    sliceMsFirst: 60_000,
    sliceMsMax: 3_600_000,
    /** Rows are sorted by account: a shorter span reads as many. */
    sliceMsMin: 30_000,
    /** Target and bound of the time for which one statement occupies the engine: below a query's deadline. */
    statementMsAimed: 500,
    statementMsMax: 1_500,
    /** A statement over the shortest span may take longer, so that the cursor always advances. */
    shortestSliceMsMax: 15_000,
    /** Deadline of one request about the cursor. */
    busMs: 3_000,
  },
  /** What an operator chooses within these bounds is `retention` of heliograph.yaml. */
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
    /** Hashes of numbers that a process holds, 16 B each: 2 MB. A power of two. */
    hashesHeld: 2 ** 17,
    /** Of a person: messages in one statement that deletes them. */
    messagesAtOnce: 2_000,
    /** The whole of it, mutations included. */
    deadlineMs: 1_800_000,
    /** The control role looks so often for new erasures, with one request. */
    lookEveryMs: 1_000,
    /** A wait of a message that ends sooner is left to its releaser, which may have it in hand. */
    releaseAheadMs: 10_000,
    /** A block of a stream's file in nats-server, at most; fillers end one, and each is below what a record may have. */
    blockOctetsMax: 2 ** 23,
    fillerOctets: 2 ** 18,
    /** What was in flight has ended by then: validity, receipts and parked receipts take four days. */
    lookAgainMs: 5 * 86_400_000,
  },
} as const;

const { queries, reaper, recorder } = recordLimits;
assert(
  recorder.upgradeHeartbeatMs * 2 < recorder.upgradeSilentMs,
  'one lost heartbeat would let two processes upgrade the schema',
);
assert(
  recorder.insertRowsMax * 2 <= recorder.heldRowsMax,
  'the recorder could not collect a batch while it inserts another',
);
assert(
  Math.max(reaper.statementMsMax, queries.shownMsMax) < queries.deadlineMs,
  'receipts would not be looked up in time while messages without a receipt, or those of an account, are looked for',
);
