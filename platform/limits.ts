// Every bound of the system, with its arithmetic. Relations between bounds are asserted at load, so a
// change that breaks one stops the start instead of losing a message.
import { assert } from './assert.ts';
import { inboundLimits } from './limits-inbound.ts';
import { leaseLimits } from './limits-leases.ts';
import { asideLimits } from './limits-lanes.ts';
import { routingLimits } from './limits-routing.ts';

export const limits = {
  http: {
    /** How long a message that is no OTP waits for others of its thread: at 5,000/s five share one write to NATS. */
    publishGatherMs: 1,
    /** 1,000 messages of a batch at about 250 bytes each. */
    bodyBytesMax: 256 * 1024,
    /** uWebSockets.js 20.51 answers 431 by itself from the 99th header line on (measured; older ones hung). */
    headersMax: 98,
    idempotencyKeyCharsMax: 255,
    clientReferenceCharsMax: 255,
    /** uWebSockets.js answers 431 above it (it counts the request line and the names too). */
    headerBytesMax: 16 * 1024,
    requestIdCharsMax: 128,
    /** Wrong fields reported at once; more would only repeat themselves. */
    fieldProblemsMax: 10,
    /** Per thread. 5,000/s × 200 ms: more waiting requests than this and an honest 503 is the better answer. */
    requestsInFlightMax: 1_000,
    /** The whole body must be there by then: below the 10 s after which uWebSockets.js drops an idle connection. */
    bodyMs: 8_000,
    /** A request on its way to the control role, and how many a thread lets wait. */
    forwardMs: 10_000,
    forwardsInFlightMax: 128,
    /** Status and list questions: the store gives up by itself at 2 s and says so. */
    statusMs: 3_000,
    statusInFlightMax: 256,
    /** Above this share of EVENTS the door refuses: every accepted message still needs room for its events. */
    eventsFullShare: 0.9,
    eventsLookMs: 1_000,
    /** Claiming a key (3 s) and publishing the message (6 s) must both end within the lease of 10 s. */
    idempotencyWrites: { timeoutMs: 1_000, deadlineMs: 3_000 },
    batch: {
      messagesMax: 1_000,
      /** Items on their way to the bus at once: their acknowledgements come in one turn, 32 × ~15 µs = 0.5 ms. */
      inFlightMax: 32,
      /** Work between two turns of the event loop, so that nobody waits more than 5 ms behind a batch. */
      sliceMs: 1,
      /** No item is begun later: with the 6 s one publish may take it ends within the idempotency lease of 10 s. */
      beginMs: 3_000,
      /** Questions to the event store for items that a first try may have published. */
      askedMax: 32,
    },
    /**
     * A message for later is answered when its `scheduled` event is durable too, and no later than this: a batch that
     * begins its last item after beginMs still ends within the idempotency lease.
     */
    scheduledMs: 6_500,
    /** Requests of one thread that wait for the answer to the same idempotency key. */
    idempotencyWaitersMax: 256,
  },
  message: {
    segmentsMax: 10,
    /** UCS-2 takes the most: 10 × 67 units, and no text of more units can fit. GSM-7: 10 × 153. */
    textUnitsMax: 10 * 153,
    /** An OTP that is five minutes old is of no use to anybody. */
    validityOtpMs: 5 * 60_000,
    validityDefaultMs: 48 * 3_600_000,
    validitySecondsMin: 1,
    validitySecondsMax: 48 * 3_600,
    /** How far ahead `send_at` may lie: a day less than LATER looks back for what it missed. */
    sendAtDaysMax: 35,
    /** A receipt may come this long after the validity ended; then the message is `unknown`. */
    receiptGraceMs: 3_600_000,
  },
  templates: {
    /** As long as the longest message can be. */
    bodyCharsMax: 1_530,
    variablesMax: 10,
    textCharsDefault: 160,
    textCharsMax: 500,
    codeDigitsDefault: 6,
    codeDigitsMax: 12,
    urlCharsMax: 500,
    /** A text that matches none costs at most 200 × 21 parts × 1,530 characters: 6 ms, when all begin alike. */
    perAccountMax: 200,
  },
  content: {
    /** An account's word list is a part of its directory entry: 500 × ~16 characters = 8 KiB. */
    wordsMax: 500,
    wordCharsMax: 64,
    wordsInPhraseMax: 6,
    domainsMax: 500,
    domainCharsMax: 253,
  },
  access: {
    networksMax: 100,
    requestsPerSecondMax: 100_000,
    burstMax: 1_000_000,
    /** Keys and accounts whose rates one ingress process keeps: 65,536 × 16 B = 1 MiB, shared by its threads. */
    ratesMax: 65_536,
    /** Addresses in one X-Forwarded-For or Forwarded header that are looked at. */
    proxyHopsMax: 20,
  },
  suppression: {
    /** One account's numbers: 1,000,000 × 8 B = 8 MB in every ingress thread and every actor thread. */
    perAccountMax: 1_000_000,
    /** One request: 10,000 × ~17 B stays under the body cap. */
    importMax: 10_000,
    /** Blocks written between two looks at changes of keys and accounts, which must not wait behind an import. */
    blocksPerPass: 16,
  },
  audit: {
    /**
     * Refused requests one thread records for one account: so many at once, two whole batches of them, and then so many a
     * second; the rest is only counted. 20 a second are 1.7 million, some 600 MB of EVENTS a day.
     */
    refusalsPerAccountBurst: 2_000,
    refusalsPerAccountPerSecond: 20,
    refusalsBurst: 10_000,
    refusalsPerSecond: 200,
    /** Accounts whose refusals are remembered; when all of them are in a flood, the next one is only counted. */
    accountsMax: 10_000,
  },
  bus: {
    /** 512 × ~400 bytes = 200 KiB in the socket at most; more only adds latency (measured: 500 saturates). */
    publishesInFlightMax: 1_024,
    publishTimeoutMs: 2_000,
    /** First try and two more with the same Nats-Msg-Id: within the idempotency lease below. */
    publishAttemptsMax: 3,
    /** The server keeps ~130 B for each id: 30 s at 5,000/s is 20 MB. */
    duplicateWindowMs: 30_000,
    accountShards: 8,
    /** Subjects of one due second: each costs the server memory, and time whenever the releaser looks. */
    laterShards: 1,
    /** Records of one due second that the releaser holds at once; the rest wait in the stream a moment longer. */
    laterHeldMax: 4_096,
    /** Cancels of messages that are due in one second: their ids are read into memory, 100,000 × ~80 B = 8 MB. */
    cancelsPerSecondMax: 100_000,
    cancelsReadMs: 5_000,
    /** How long before a second begins its cancels end. Two requests take a few milliseconds. */
    cancelsEndAheadMs: 250,
    /** The furthest a record may be due, and how far back a releaser looks for overdue ones: 35 days and one. */
    laterDaysMax: 36,
    /** Longer than this and a record goes through LATER: a delayed nak holds an ack-pending slot. */
    nakDelayMsMax: 1_000,
    /** After this many failures of its handler a record is poison and goes to DEAD. */
    handlerFailuresMax: 5,
  },
  idempotency: {
    ttlMs: 24 * 3_600_000,
    /** Keys an account may use in an hour when nothing else was agreed: docs/idempotency.md has the arithmetic. */
    keysPerHourDefault: 50_000,
    keysPerHourMax: 10_000_000,
    /** A publish is given up after publishTimeoutMs × publishAttemptsMax; then nobody else can be working on it. */
    leaseMs: 10_000,
  },
  events: {
    /** Largest batch in one EVENTS record: 256 × ~350 bytes stays under 100 KiB. */
    batchMax: 256,
    batchLingerMs: 4,
    /** Events a writer may hold while the bus is away: 20,000 × ~1 KiB in memory = 20 MB. */
    heldMax: 20_000,
  },
  carrier: {
    ackWaitOtpMs: 2_000,
    ackWaitMs: 10_000,
    responseTimerMs: 10_000,
    /** How far back an actor reads its own events after a restart: see the assertion below. */
    replayWindowMs: 60_000,
    /** How long a durable intent waits until it has been read in EVENTS: then it is told as not written. */
    claimWaitMs: 8_000,
    /** And how far when nobody served its records lately: 30 min at 1,000/s × 3 events are read in some 10 s. */
    replayReachMs: 30 * 60_000,
    /** Records a ledger generation remembers: 60 s at 8,000/s × ~90 B = 45 MB. */
    ledgerEntriesMax: 500_000,
    /**
     * Segments an actor remembers for their receipts before it must ask the event store: 200,000 × ~80 B for the ids,
     * and what their events need packed into chunks: ~170 B each is 34 MB, the rest is what stragglers leave unused.
     */
    outstandingMax: 200_000,
    outstandingMemory: { chunkBytes: 256 * 1024, chunksMax: 192 },
    /** Receipts that came before their response; each waits this long for it, then asks the event store. */
    earlyReceiptsMax: 10_000,
    earlyReceiptWaitMs: 2_000,
    /** A receipt without a match is tried again after these waits, then reported. */
    parkedReceiptWaitsMs: [5_000, 30_000, 120_000, 600_000],
    /** What may be wrong with every receipt of a carrier is logged once in this time. */
    receiptSaidEveryMs: 60_000,
    /** Records one carrier holds of one account shard in one lane: × 8 shards × 3 lanes × ~2 KiB = 100 MB at worst. */
    shardHeldMax: 2_048,
    /** Accounts that take turns in one lane of one carrier; the others of that moment share one turn. */
    laneAccountsMax: 1_024,
    /** Unknown submits a late receipt may still settle by recipient and sender. */
    unknownRememberedMax: 50_000,
    /** Before it is sent again, a message with an unknown outcome waits this long for its late receipt; an OTP does not. */
    resendWaitMs: 6_000,
    /** Late answered submits to be asked about with query_sm, and when: a receipt is mostly there before the first. */
    queriedSubmitsMax: 1_000,
    queryAfterMs: [2 * 60_000, 10 * 60_000, 60 * 60_000],
  },
  ...routingLimits,
  ...leaseLimits,
  inbound: inboundLimits,
  aside: asideLimits,
  smpp: {
    /** A submit_sm with ten TLVs is under 1 KiB; a length beyond this is garbage, not a PDU. */
    pduBytesMin: 16,
    pduBytesMax: 16_384,
    /** Submits stop when this much waits for the peer to read: two windows of 100 × ~250 bytes. */
    writeBytesSoft: 64 * 1024,
    /** Reading stops too: a peer that reads nothing gets no more answers. */
    writeBytesHard: 512 * 1024,
    /** Outgoing PDUs are written into slabs of this size: ~250 submits, one allocation. */
    slabBytes: 64 * 1024,
    windowPdusMax: 1_000,
    /** query_sm of one session that wait for an answer: questions are rare and never urgent. */
    queriesMax: 4,
    connectTimerMs: 10_000,
    bindTimerMs: 5_000,
    enquireLinkMs: 15_000,
    /** A peer that answers nothing is not asked for ever: the bind is recycled. */
    responseTimeoutsInARowMax: 3,
    /** Connection attempts of one process, over all its binds: 200 binds are back within ten seconds. */
    connectsPerSecond: 20,
    /** A turn that could not be taken for this long is lost: after a stall at most one second's attempts come at once. */
    lateTurnMsMax: 1_000,
    reconnectBaseMs: 1_000,
    reconnectCapMs: 60_000,
    /** The first retry after a healthy session: most cuts are a restart of the peer or one lost route. */
    reconnectQuickMs: 250,
    /** Bound this long and the backoff starts anew. */
    stableMs: 30_000,
    /** A carrier frees the session of a crashed client after its inactivity timer, 60 s with most. */
    ghostSessionMs: 65_000,
    /** Refused so often in a row for too many sessions: no ghost any more, somebody must look. */
    tooManyBindsAlarmAt: 3,
  },
  flight: {
    /** The PDUs one carrier's binds remember, shared out over them: 64 carriers of 16 binds are 256 MiB at worst. */
    carrierBytes: 4 * 1024 * 1024,
    /** One bind has no more than this, ~2,000 messages with their answers and receipts, and no less than the other. */
    bindBytesMax: 1024 * 1024,
    bindBytesMin: 64 * 1024,
    /** Decisions of one carrier: × ~120 B = 1 MB. */
    decisionsMax: 8_192,
    /** One answer to who reads a recorder: it must not stand in the way of what the same connection publishes. */
    answerBytesMax: 128 * 1024,
    answerDecisionsMax: 512,
    answerMs: 2_000,
    /** How long the reader waits for further nodes that serve the carrier, after the first has answered. */
    gatherMs: 300,
    answersMax: 1_024,
    dumpDecisionsMax: 2_000,
    /** A bind that comes and goes leaves one file in this time. */
    dumpEveryMs: 60_000,
    /** Packets written between two turns of the event loop: 200 × ~3 µs. */
    dumpSlice: 200,
  },
  simulator: {
    /** deliver_sm that wait for an answer, per session. */
    receiptWindowMax: 200,
    /** Receipts kept while nobody is bound to take them: 200,000 × ~300 B = 60 MB. */
    pendingMax: 200_000,
    receiptRetryMs: 1_000,
    receiptAttemptsMax: 100,
    receiptResponseMs: 10_000,
    recordMax: 10_000,
    /** Nonces counted: 2M × ~100 B = 200 MB; beyond it they are counted as dropped. */
    noncesMax: 2_000_000,
    /** Half-arrived concatenated messages kept for the recording. */
    partsMax: 10_000,
    magicNumbersMax: 10_000,
    /** A session that never binds is closed after this. */
    bindWaitMs: 30_000,
    statsBodyBytesMax: 16 * 1024,
  },
  store: {
    poolMax: 8,
    connectTimeoutMs: 2_000,
    statementTimeoutMs: 4_000,
    idleInTransactionMs: 10_000,
    migrationTimeoutMs: 10 * 60_000,
    /** An account's entry in the directory stays under 4 KiB with this many sender names. */
    sendersPerAccountMax: 200,
    /** Keys that are not revoked. */
    keysPerAccountMax: 100,
  },
  directory: {
    /** A change is promised everywhere within a second; until so long after, two processes may know different things. */
    heardWithinMs: 5_000,
    /** How late a change can be seen when its notification was lost: well under the promised second. */
    outboxPollMs: 250,
    /** Outbox rows projected in one go, and with it KV requests in flight. */
    outboxBatchMax: 256,
    reconcileEveryMs: 60_000,
    reconcileRetryMs: 5_000,
    /** How often a reader checks that its watch has not fallen behind in silence. */
    watchCheckEveryMs: 1_000,
    checkTimeoutMs: 1_500,
    /** A full read of the bucket: 100,000 entries take about a second. */
    readTimeoutMs: 10_000,
  },
  registry: {
    /** 2.5 bytes each: 150 MB; one version being replaced by the next are two of them for a moment. */
    numbersMax: 60_000_000,
    /** A delta is sorted in memory, with its order kept: 5,000,000 × 24 B = 120 MB. */
    deltaRowsMax: 5_000_000,
    /** Half of what nats-server lets a record have. */
    chunkBytes: 512 * 1024,
    /** Chunks on their way at once: 8 × 512 KiB in the socket. */
    chunksInFlight: 8,
    chunkTimeoutMs: 5_000,
    /** How late a new version is noticed; with loading it (100 ms for 20 million numbers) well under a second. */
    lookEveryMs: 500,
    lookTimeoutMs: 2_000,
    loadTimeoutMs: 30_000,
    /** An import renews its lock this often; one that missed three renewals is taken over. */
    lockRenewMs: 1_000,
    lockLapsesMs: 4_000,
    /** Rows between two checkpoints of an import: 8 MB of staging. */
    checkpointRows: 1_000_000,
    /** Rows that cannot be read before an import gives up; --bad-rows-max changes it. */
    badRowsMax: 1_000,
    badRowsShown: 20,
    rowBytesMax: 1_024,
    /** A snapshot that would take away more than this share is taken for a mistake, unless told otherwise. */
    shrinkShareMax: 0.5,
  },
  operations: {
    /** How late an order is seen when the word of it was lost; the word itself takes a millisecond. */
    lookEveryMs: 1_000,
    callTimeoutMs: 2_000,
    /** How long carriers' answers are waited for, and how long after the first of them. */
    reportsWithinMs: 800,
    reportsStallMs: 150,
    /** Reports that are read: nodes × threads, each within one NATS payload. */
    reportsMax: 256,
    /** How long a command waits until all that serve the carrier have taken up its order. */
    inForceWithinMs: 3_000,
    reasonCharsMax: 200,
    /** Records of DEAD that one command looks at. */
    deadReadMax: 10_000,
    /** The audit log's writer: one wait for an order, the pause after a failure, and how long one may be in hand. */
    auditPullMs: 1_000,
    auditRetryMs: 1_000,
    auditAckWaitMs: 30_000,
    /** Orders between two tidyings, and how many records one of them reads: 10,000 × ~400 B. */
    tidyEvery: 50,
    tidyMax: 10_000,
    /** What waits in the streams: one look at all consumers. */
    streamsLookEveryMs: 5_000,
    /** A bind that is tried by the doctor: connection, answer to the bind, answer to enquire_link. */
    probeStepMs: 5_000,
  },
  management: {
    pageDefault: 20,
    pageMax: 100,
    /** Shorter than the ingress waits for a forwarded request, longer than one statement. */
    requestDeadlineMs: 8_000,
    requestsInFlightMax: 64,
  },
  recorder: {
    /** One insert: 20,000 rows × ~280 B of text = 5.6 MB. Larger ones cost less per row but are felt as pauses. */
    insertRowsMax: 20_000,
    insertEveryMs: 1_000,
    /** One insert running, one ready, one collecting; × ~1.5 KiB in memory = 90 MB. Then the stream waits. */
    heldRowsMax: 60_000,
    /** Records the client may hold before they are taken: 128 × at most 100 KiB. */
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
    youngWaitMs: 1_000,
    waitersMax: 500,
  },
  reaper: {
    everyMs: 60_000,
    messagesPerRunMax: 1_000,
    /** How far back the first run after a start looks for forgotten messages. */
    lookbackMs: 3 * 24 * 3_600_000,
  },
  supervision: {
    /** A child may take this long to drain: in-flight submits wait for at most one response timer. */
    drainMs: 12_000,
    /** A child that is told to stop before it was ready. */
    unreadyDrainMs: 2_000,
    /** The supervisor died: embedded servers follow after embeddedGraceMs, so be gone before. */
    orphanDrainMs: 3_000,
    embeddedGraceMs: 4_000,
    /** PostgreSQL writes its last checkpoint, nats-server its streams. */
    embeddedStopMs: 10_000,
    /** After SIGTERM by the tether, before SIGKILL. */
    embeddedKillMs: 3_000,
    healthEveryMs: 1_000,
    /** An embedded nats-server that is silent four looks in a row, some 20 to 35 s, hangs and is started anew. */
    natsWatch: { lookEveryMs: 5_000, silencesMax: 4 },
    /** A child that is not ready after this long is killed and counts as a crash. */
    startMs: 30_000,
    metricsAnswerMs: 2_000,
    /** Restarts at once after a crash: five, and one more for each refill interval. */
    restartBurst: 5,
    restartRefillMs: 30_000,
    restartBackoffBaseMs: 200,
    restartBackoffCapMs: 5_000,
    /** Budget spent: an alarm, and only a slow retry. */
    restartFailedEveryMs: 30_000,
  },
} as const;

assert(
  limits.http.idempotencyWrites.deadlineMs + limits.bus.publishTimeoutMs * limits.bus.publishAttemptsMax <
    limits.idempotency.leaseMs,
  'an idempotency lease could be taken over while its first owner still publishes',
);
assert(
  limits.http.batch.beginMs + limits.http.scheduledMs < limits.idempotency.leaseMs,
  'an idempotency lease could be taken over while a batch still waits for the events of what is for later',
);
assert(
  limits.carrier.resendWaitMs > limits.carrier.earlyReceiptWaitMs,
  'a message would be sent again before its late receipt was looked at',
);
assert(
  limits.carrier.replayWindowMs > limits.carrier.ackWaitMs + limits.carrier.responseTimerMs + 10_000,
  'a record could be redelivered after its intent fell out of the replay window',
);
assert(
  limits.bus.duplicateWindowMs > limits.idempotency.leaseMs * 2,
  'a takeover could publish an id the stream has already forgotten',
);
assert(
  limits.flight.bindBytesMin >= 2 * limits.smpp.pduBytesMax && limits.flight.answerBytesMax > limits.smpp.pduBytesMax,
  'the largest PDU would find no room in a flight recorder, or in an answer of one',
);
assert(
  limits.management.requestDeadlineMs > limits.store.statementTimeoutMs + limits.store.connectTimeoutMs,
  'a management request would end before its only statement could',
);
assert(
  limits.supervision.orphanDrainMs < limits.supervision.embeddedGraceMs,
  'nats-server could stop while an orphaned role still settles what it holds',
);
assert(
  limits.supervision.drainMs > limits.carrier.responseTimerMs,
  'a drain could end before the last submit had its chance of an answer',
);
assert(
  limits.recorder.insertRowsMax * 2 <= limits.recorder.heldRowsMax,
  'the recorder could not collect a batch while it inserts another',
);
assert(
  limits.aside.publishMs + Math.max(limits.aside.unservedMs, limits.aside.forgottenMs) + limits.carrier.ackWaitMs <
    limits.bus.duplicateWindowMs,
  'a record could be set aside twice, because the stream has forgotten the first time',
);
