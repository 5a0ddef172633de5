// The part of limits.ts about what became of messages: events on their way into the event store, questions to it, and what
// is looked for because nothing was heard of it. A file of its own only for its length; everybody reads it as `limits`.

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
    /** Submits to one recipient over one carrier among which a receipt's is looked for. */
    submitsOfRecipientMax: 200,
    listLimitDefault: 20,
    listLimitMax: 100,
    /** Messages looked at for one page when a filter can only be tried after folding; more while none was found. */
    listScannedMax: 1_000,
    /** So long is looked for the first one: half of the deadline, because one statement more may have begun. */
    listSearchMs: 1_000,
    /** Events among which those of a status are looked for by one statement, some 10 ms. */
    listWindowRows: 200_000,
    /** A message this young may still be on its way to the recorder: its get waits a moment. */
    youngMs: 10_000,
    /** And so far ahead of this node's clock may its time be: another node made its id. */
    aheadMs: 1_000,
    youngWaitMs: 1_000,
    waitersMax: 500,
    /** So long a question waits until everything that was in EVENTS when it came has been read; the recorder is ms behind. */
    catchUpMs: 500,
    /** So long a node that does not record waits for the answer of the one that does; what is left is for its own look. */
    passOnMs: 1_600,
  },
  reaper: {
    everyMs: 60_000,
    messagesPerRunMax: 1_000,
    /** How far back the first run after a start looks for forgotten messages. */
    lookbackMs: 3 * 24 * 3_600_000,
  },
} as const;
