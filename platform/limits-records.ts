// The part of limits.ts about what became of messages: events on their way into the event store, questions to it, and
// what is looked for because nothing was heard of it. A file of its own only for its length; it is read as `limits`.

export const recordLimits = {
  recorder: {
    /** One insert: 20,000 rows × ~280 B of text = 5.6 MB. Larger ones cost less per row but are felt as pauses. */
    insertRowsMax: 20_000,
    insertEveryMs: 1_000,
    /** One insert running, one ready, one collecting; × ~1.5 KiB in memory = 90 MB. Then the stream waits. */
    heldRowsMax: 60_000,
    /** Records the client may hold before they are taken: 128 × at most 256 KiB = 32 MB. */
    prefetchRecords: 128,
    /** An insert that takes longer counts as unknown and is repeated under the same token. */
    insertTimeoutMs: 30_000,
    retryBaseMs: 200,
    retryCapMs: 10_000,
    /** Two generations of 2^21 slots × 8 B = 32 MB; at 60 % full each remembers 1.25 million events. */
    seenSlotsPerGeneration: 2 ** 21,
    /** Events read back at the start; older ones are looked up. 400,000 × 12 B on the way. */
    seenRefillMax: 400_000,
    seenRefillMs: 15 * 60_000,
    /** Clocks of nodes may differ by this much before an event could be counted twice. */
    clockSkewMsMax: 30_000,
    /** Messages in one look-up of old events: × ~33 B stays below the 256 KiB a statement may have. */
    lookupMessagesMax: 4_000,
    /** An unreadable record is offered to DEAD for this long; then it is left where it is, with an alarm. */
    deadTimeoutMs: 60_000,
    purgeEveryMs: 30_000,
    /** EVENTS fuller than this raises an alarm: the ingress is about to answer 503. */
    streamAlarmRatio: 0.8,
    /** Up to here EVENTS waits for durable consumers that are not this system's. */
    foreignReadersRatio: 0.5,
  },
  queries: {
    /** A question is answered within this, or refused as unavailable. */
    deadlineMs: 2_000,
    /** Questions held at once; × a few KiB. More are refused as unavailable. */
    heldMax: 1_000,
    /** Messages read by one statement, whoever asked for them. */
    messagesPerReadMax: 100,
    listLimitDefault: 20,
    listLimitMax: 100,
    /** Messages looked at for one page when a filter can only be tried after folding; more while none was found. */
    listScannedMax: 1_000,
    /** So long is looked for the first one: half of the deadline, because one statement more may have begun. */
    listSearchMs: 1_000,
    /** Events among which those of a page are looked for by one statement, some 20 ms. */
    listWindowRows: 20_000,
    /** The window doubles while it does not fill the page, up to some 150 ms: so long a list holds the engine at once. */
    listWindowRowsMax: 320_000,
    /**
     * An id's time is at most so far ahead of its message's: a client's clock (automaticKeyAheadMs) and those of two
     * nodes.
     */
    idAheadMsMax: 60_000,
    /** And so far behind: a request under an idempotency key is repeated up to a day later. */
    idBehindMsMax: 25 * 3_600_000,
    /** A message this young may still be on its way to the recorder: its get waits a moment. */
    youngMs: 10_000,
    /** And so far ahead of this node's clock may its time be: another node made its id. */
    aheadMs: 1_000,
    youngWaitMs: 1_000,
    waitersMax: 500,
    /**
     * So long a question waits until everything that was in EVENTS when it came has been read; the recorder is ms
     * behind.
     */
    catchUpMs: 500,
    /**
     * So long a node that does not record waits for the answer of the one that does; what is left is for its own look.
     */
    passOnMs: 1_600,
  },
  reaper: {
    /** How often it looks when nothing was due; while something is, it goes on without a pause. */
    everyMs: 60_000,
    retryMs: 5_000,
    /** × ~100 B; a crash repeats at most so many, without effect. */
    messagesPerPageMax: 5_000,
    /** Due times that one statement looks at: halved when it took long, failed, or its page was full. */
    sliceMsFirst: 60_000,
    sliceMsMax: 3_600_000,
    /** Rows lie by account: a shorter one reads as many. */
    sliceMsMin: 30_000,
    /** So long one statement should hold the engine, and so long it may: less than a question's deadline. */
    statementMsAimed: 500,
    statementMsMax: 1_500,
    /** One over the shortest slice may take longer: the cursor must come past it. */
    shortestSliceMsMax: 15_000,
    /** One answer of the bus about the cursor. */
    busMs: 3_000,
  },
} as const;
