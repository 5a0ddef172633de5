// Every bound of the system, with its arithmetic. Relations between bounds are asserted at load, so a
// change that breaks one stops the start instead of losing a message.
import { assert } from './assert.ts';
import { controlLimits } from './limits-control.ts';
import { httpLimits } from './limits-http.ts';
import { inboundLimits } from './limits-inbound.ts';
import { leaseLimits } from './limits-leases.ts';
import { overflowLimits } from './limits-lanes.ts';
import { recordLimits } from './limits-records.ts';
import { waitingLimits } from './limits-waiting.ts';
import { replayLimits } from './limits-replay.ts';
import { routingLimits } from './limits-routing.ts';

export const limits = {
  ...httpLimits,
  bus: {
    /** To one stream: 512 × ~400 bytes = 200 KiB in the socket; more only adds latency (measured: 500 saturates). */
    publishesInFlightMax: 1_024,
    publishTimeoutMs: 2_000,
    /** What nats-server takes in one record unless it is told otherwise (max_payload), before it has said so. */
    payloadBytesMaxUsual: 1024 * 1024,
    /** Kept free in every record, so that DEAD can take it with the reason (≤ 500 characters) and where it came from. */
    deadHeaderBytesMax: 4 * 1024,
    /** First try and two more with the same Nats-Msg-Id: within the idempotency lease below. */
    publishAttemptsMax: 3,
    /** The server keeps ~130 B for each id: 30 s at 5,000/s is 20 MB. */
    duplicateWindowMs: 30_000,
    accountShards: 8,
    /** Subjects of one due second: each costs the server memory, and time whenever the releaser looks. */
    laterShards: 1,
    /** The system's own waits are no longer: parked receipts wait ten minutes. What waits longer is held for quiet hours. */
    shortWaitMsMax: 15 * 60_000,
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
    /** What found DEAD full is tried again this often, so many at once: DEAD is emptied by a person. */
    fallbackHeldMax: 16,
    fallbackRetryMs: 10_000,
  },
  events: {
    /** Largest batch in one EVENTS record: 256 × ~350 bytes stays under 100 KiB; one that does not is split. */
    batchMax: 256,
    batchBytesMax: 256 * 1024,
    /** What is left of one text of an event that is too large for a record by itself. */
    shortenedCharsMax: 64,
    batchLingerMs: 4,
    /** Events a writer may hold while the bus is away: 20,000 × ~1 KiB in memory = 20 MB. */
    heldMax: 20_000,
  },
  carrier: {
    ackWaitOtpMs: 2_000,
    ackWaitMs: 10_000,
    responseTimerMs: 10_000,
    ...replayLimits,
    /** How long a durable intent waits until it has been read in EVENTS: then it is published as not written. */
    claimWaitMs: 8_000,
    /**
     * The longest a message rests in memory between two tries: as long as the longest wait after a refusal. Only what must
     * not leave (the carrier has a part of it) or cannot (LATER takes nothing) rests longer than a second.
     */
    restMsMax: 60_000,
    /** What LATER did not answer is published there again so often. */
    deferralRetryMs: 1_000,
    /** An open intent of our own that nobody here holds is left to itself this long: what was published about it may still be read. */
    ownOpenWaitMs: 10_000,
    /** Records a replay index generation remembers: 60 s at 8,000/s × ~90 B = 45 MB. */
    replayIndexEntriesMax: 500_000,
    /**
     * Segments an actor remembers for their receipts before it must ask the event store: 200,000 × ~80 B for the ids,
     * and what their events need packed into chunks: up to 220 B each at seven eighths of 192 × 256 KiB; ~170 B are usual.
     */
    outstandingMax: 200_000,
    outstandingMemory: { chunkBytes: 256 * 1024, chunksMax: 192 },
    /** Receipts that came before their response; each waits this long for it, then asks the event store. */
    earlyReceiptsMax: 10_000,
    earlyReceiptWaitMs: 2_000,
    /** A receipt without a match is tried again after these waits, then reported. */
    parkedReceiptWaitsMs: [5_000, 30_000, 120_000, 600_000],
    /** While the event store cannot say whether it knows the message no wait is used up: a receipt is kept this long. */
    parkedReceiptAgeMsMax: 2 * 86_400_000,
    /** What may be wrong with every receipt of a carrier is logged once in this time. */
    receiptLogEveryMs: 60_000,
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
  ...controlLimits,
  ...routingLimits,
  ...leaseLimits,
  inbound: inboundLimits,
  overflow: overflowLimits,
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
    /** What is kept of a text of a peer: as long as SMPP 3.4 lets a message id be. */
    textCharsMax: 64,
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
    /** Bound this long and the backoff restarts. */
    stableMs: 30_000,
    /** A carrier frees the session of a crashed client after its inactivity timer, 60 s with most. */
    ghostSessionMs: 65_000,
    /** Refused so often in a row for too many sessions: no ghost session any more, a person must look. */
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
  keysUsed: {
    publishEveryMs: 60_000,
    /** 30 octets each. */
    keysPerNoteMax: 1_000,
    answerMs: 5_000,
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
    effectiveWithinMs: 3_000,
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
  ...recordLimits,
  ...waitingLimits,
  supervision: {
    /** A child may take this long to drain. The carriers have more, by their response timers: config/drain-times.ts. */
    drainMs: 12_000,
    /**
     * What a drain of carriers takes besides the wait for answers: PDUs that are chosen are written, the last answers are
     * on their way, their events become durable, connections are closed. Each is milliseconds where nothing is slow.
     */
    drainSteps: { writeMs: 2_500, answerMarginMs: 500, eventsMs: 3_000, closeMs: 1_500 },
    /** `limits.drain_s_max` in heliograph.yaml: longer than the longest response timer with all steps. */
    carriersDrainMsMax: 90_000,
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
    /** An embedded nats-server that is silent four looks in a row, some 20 to 35 s, hangs and is restarted. */
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
  limits.http.idempotencyWrites.deadlineMs +
    limits.scheduled.countMs +
    limits.bus.publishTimeoutMs * limits.bus.publishAttemptsMax <
    limits.idempotency.leaseMs,
  'an idempotency lease could be taken over while its first owner still publishes',
);
assert(
  limits.supervision.startMs > limits.idempotency.readAheadMs + 5_000,
  'an ingress thread that reads idempotency keys ahead would be taken for one that does not start',
);
assert(
  limits.http.batch.beginMs + limits.scheduled.countMs + limits.http.scheduledMs < limits.idempotency.leaseMs,
  'an idempotency lease could be taken over while a batch still waits for the events of what is for later',
);
assert(
  limits.carrier.resendWaitMs > limits.carrier.earlyReceiptWaitMs,
  'a message would be sent again before its late receipt was looked at',
);
assert(
  limits.carrier.replayWindowMs > 2 * (limits.carrier.consumerHeardWithinMs + limits.carrier.ackWaitMs),
  'a record whose ack was lost could come back after its outcome fell out of the replay window',
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
  limits.recorder.insertRowsMax * 2 <= limits.recorder.heldRowsMax,
  'the recorder could not collect a batch while it inserts another',
);
const { publishMs, unservedMs, forgottenMs } = limits.overflow;
assert(
  publishMs + Math.max(unservedMs, forgottenMs) + limits.carrier.ackWaitMs < limits.bus.duplicateWindowMs,
  'a record could be moved to overflow twice, because the stream has forgotten the first time',
);
assert(
  limits.queries.idBehindMsMax > limits.idempotency.ttlMs &&
    limits.queries.idAheadMsMax > limits.idempotency.automaticKeyAheadMs + limits.recorder.clockSkewMsMax,
  'a list by time could leave out a message whose id was made at another time',
);
assert(
  limits.reaper.statementMsMax < limits.queries.deadlineMs,
  'receipts would not be looked up in time while messages without a receipt are looked for',
);
