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
    /** nats-server's default max_payload, used until the server has sent its own. */
    payloadBytesMaxUsual: 1024 * 1024,
    /** Reserved in every record for the headers that DEAD adds: the reason (≤ 500 characters) and the origin. */
    deadHeaderBytesMax: 4 * 1024,
    /** First try and two more with the same Nats-Msg-Id: within the idempotency lease below. */
    publishAttemptsMax: 3,
    /** The server keeps ~130 B for each id: 30 s at 5,000/s is 20 MB. */
    duplicateWindowMs: 30_000,
    accountShards: 8,
    /** Subjects of one due second: each costs the server memory, and time at every check of the releaser. */
    laterShards: 1,
    /** The longest wait of the system itself (parked receipts: ten minutes). Longer ones are holds for quiet hours. */
    shortWaitMsMax: 15 * 60_000,
    /** Records of one due second that the releaser processes at once; the rest stay in the stream a moment longer. */
    laterHeldMax: 4_096,
    /** Cancels of messages that are due in one second: their ids are read into memory, 100,000 × ~80 B = 8 MB. */
    cancelsPerSecondMax: 100_000,
    cancelsReadMs: 5_000,
    /** How long before a due second its cancels close. Two requests take a few milliseconds. */
    cancelsEndAheadMs: 250,
    /** The furthest a record may be due ahead, and how far back a releaser searches for overdue ones: 35 days + 1. */
    laterDaysMax: 36,
    /** Longer than this and a record goes through LATER: a delayed nak holds an ack-pending slot. */
    nakDelayMsMax: 1_000,
    /** After this many failures of its handler a record is poison and goes to DEAD. */
    handlerFailuresMax: 5,
    /** Records that a full DEAD refused are retried at this interval, so many at once; an operator must empty DEAD. */
    fallbackHeldMax: 16,
    fallbackRetryMs: 10_000,
  },
  events: {
    /** Largest batch in one EVENTS record: 256 × ~350 bytes stays under 100 KiB; a larger one is split. */
    batchMax: 256,
    batchBytesMax: 256 * 1024,
    /** Length to which the texts of an event are cut that is too large for a record by itself. */
    shortenedCharsMax: 64,
    batchLingerMs: 4,
    /** Events a writer may hold while NATS is unavailable: 20,000 × ~1 KiB in memory = 20 MB. */
    heldMax: 20_000,
  },
  carrier: {
    ackWaitOtpMs: 2_000,
    ackWaitMs: 10_000,
    responseTimerMs: 10_000,
    ...replayLimits,
    /** How long a durable intent waits until it has been read in EVENTS; then it is published as not written. */
    claimWaitMs: 8_000,
    /**
     * The longest a message waits in memory between two attempts: the longest wait after a refusal. Only a message that
     * must not leave (the carrier has a part of it) or cannot (LATER refuses it) waits longer than a second.
     */
    restMsMax: 60_000,
    /** Interval of repeated publishes to LATER that got no acknowledgement. */
    deferralRetryMs: 1_000,
    /** How long our own open intent without a message in flight is left alone: its events may still be read. */
    ownOpenWaitMs: 10_000,
    /** Records a replay index generation remembers: 60 s at 8,000/s × ~90 B = 45 MB. */
    replayIndexEntriesMax: 500_000,
    /**
     * Segments an actor remembers for their receipts before it must query the event store: 200,000 × ~80 B for the ids,
     * and packed fields for their events: up to 220 B each at seven eighths of 192 × 256 KiB; ~170 B are usual.
     */
    outstandingMax: 200_000,
    outstandingMemory: { chunkBytes: 256 * 1024, chunksMax: 192 },
    /** Receipts that arrived before the response; each waits this long for it, then queries the event store. */
    earlyReceiptsMax: 10_000,
    earlyReceiptWaitMs: 2_000,
    /** A receipt without a match is retried after these waits, then reported. */
    parkedReceiptWaitsMs: [5_000, 30_000, 120_000, 600_000],
    /** While the event store is unavailable no retry is used up: a receipt is kept this long. */
    parkedReceiptAgeMsMax: 2 * 86_400_000,
    /** A problem that every receipt of a carrier may have is logged once in this time. */
    receiptLogEveryMs: 60_000,
    /** Records one carrier holds of one account shard in one lane: × 8 shards × 3 lanes × ~2 KiB = 100 MB at worst. */
    shardHeldMax: 2_048,
    /** Accounts that take turns in one lane of one carrier; further accounts share one turn. */
    laneAccountsMax: 1_024,
    /** Unknown submits that a late receipt may still settle by recipient and sender. */
    unknownRememberedMax: 50_000,
    /** How long a message with an unknown outcome waits for a late receipt before it is resent; an OTP does not. */
    resendWaitMs: 6_000,
    /** Submits with a late response to query with query_sm, and when: most receipts arrive before the first. */
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
    /** Submits stop when this much is unread by the peer: two windows of 100 × ~250 bytes. */
    writeBytesSoft: 64 * 1024,
    /** Reading stops too: a peer that reads nothing gets no more responses. */
    writeBytesHard: 512 * 1024,
    /** Outgoing PDUs are written into slabs of this size: ~250 submits, one allocation. */
    slabBytes: 64 * 1024,
    /** Characters kept of a text from a peer: as long as SMPP 3.4 lets a message id be. */
    textCharsMax: 64,
    windowPdusMax: 1_000,
    /** Pending query_sm of one session: they are rare and never urgent. */
    queriesMax: 4,
    connectTimerMs: 10_000,
    bindTimerMs: 5_000,
    enquireLinkMs: 15_000,
    /** After this many response timeouts in a row the bind is closed and reopened. */
    responseTimeoutsInARowMax: 3,
    /** Connection attempts of one process, over all its binds: 200 binds are back within ten seconds. */
    connectsPerSecond: 20,
    /** A slot unused for this long expires: after a stall at most one second's attempts happen at once. */
    lateTurnMsMax: 1_000,
    reconnectBaseMs: 1_000,
    reconnectCapMs: 60_000,
    /** The first retry after a healthy session: most disconnects are a restart of the peer or one lost route. */
    reconnectQuickMs: 250,
    /** After this long in a bound state the backoff starts over. */
    stableMs: 30_000,
    /** A carrier frees the session of a crashed client after its inactivity timer, 60 s with most. */
    ghostSessionMs: 65_000,
    /** Binds refused this often in a row for too many sessions raise an alarm: it is not a ghost session any more. */
    tooManyBindsAlarmAt: 3,
  },
  flight: {
    /** The PDUs that one carrier's binds keep, divided among them: 64 carriers of 16 binds are 256 MiB at worst. */
    carrierBytes: 4 * 1024 * 1024,
    /** The most for one bind, ~2,000 messages with their responses and receipts, and the least. */
    bindBytesMax: 1024 * 1024,
    bindBytesMin: 64 * 1024,
    /** Decisions of one carrier: × ~120 B = 1 MB. */
    decisionsMax: 8_192,
    /** One answer to a reader of a recorder: it must not delay what the same connection publishes. */
    answerBytesMax: 128 * 1024,
    answerDecisionsMax: 512,
    answerMs: 2_000,
    /** How long the reader waits for further nodes of the carrier after the first answer. */
    gatherMs: 300,
    answersMax: 1_024,
    dumpDecisionsMax: 2_000,
    /** A bind that reconnects repeatedly writes one dump file in this time. */
    dumpEveryMs: 60_000,
    /** Packets written between two turns of the event loop: 200 × ~3 µs. */
    dumpSlice: 200,
  },
  simulator: {
    /** deliver_sm that wait for a response, per session. */
    receiptWindowMax: 200,
    /** Receipts kept while nobody is bound to take them: 200,000 × ~300 B = 60 MB. */
    pendingMax: 200_000,
    receiptRetryMs: 1_000,
    receiptAttemptsMax: 100,
    receiptResponseMs: 10_000,
    recordMax: 10_000,
    /** Nonces counted: 2M × ~100 B = 200 MB; beyond it they are counted as dropped. */
    noncesMax: 2_000_000,
    /** Incomplete concatenated messages kept for the recording. */
    partsMax: 10_000,
    magicNumbersMax: 10_000,
    /** A session that never binds is closed after this. */
    bindWaitMs: 30_000,
    statsBodyBytesMax: 16 * 1024,
  },
  directory: {
    /** Every process should see a change within a second; until this long after it two may have different states. */
    heardWithinMs: 5_000,
    /** How late a change is seen when its notification was lost: well under the promised second. */
    outboxPollMs: 250,
    /** Outbox rows projected in one go, and with it KV requests in flight. */
    outboxBatchMax: 256,
    reconcileEveryMs: 60_000,
    reconcileRetryMs: 5_000,
    /** How often a reader checks that its watch has not stalled. */
    watchCheckEveryMs: 1_000,
    checkTimeoutMs: 1_500,
    /** A full read of the bucket: 100,000 entries take about a second. */
    readTimeoutMs: 10_000,
  },
  registry: {
    /** 2.5 bytes each: 150 MB; while one version replaces another both are in memory. */
    numbersMax: 60_000_000,
    /** A delta is sorted in memory, with its order kept: 5,000,000 × 24 B = 120 MB. */
    deltaRowsMax: 5_000_000,
    /** Half of nats-server's default max_payload. */
    chunkBytes: 512 * 1024,
    /** Chunks being published at once: 8 × 512 KiB in the socket. */
    chunksInFlight: 8,
    chunkTimeoutMs: 5_000,
    /** How late a new version is noticed; with loading it (100 ms for 20 million numbers) well under a second. */
    lookEveryMs: 500,
    lookTimeoutMs: 2_000,
    loadTimeoutMs: 30_000,
    /** An import renews its lock this often; a lock with three missed renewals is taken over. */
    lockRenewMs: 1_000,
    lockLapsesMs: 4_000,
    /** Rows between two checkpoints of an import: 8 MB of staging. */
    checkpointRows: 1_000_000,
    /** Unreadable rows before an import fails; --bad-rows-max changes it. */
    badRowsMax: 1_000,
    badRowsShown: 20,
    rowBytesMax: 1_024,
    /** A snapshot that would remove more than this share is refused as a mistake unless it is confirmed. */
    shrinkShareMax: 0.5,
  },
  keysUsed: {
    publishEveryMs: 60_000,
    /** 30 octets each. */
    keysPerNoteMax: 1_000,
    answerMs: 5_000,
  },
  operations: {
    /** How late a command is seen when its notification was lost; a notification takes a millisecond. */
    lookEveryMs: 1_000,
    callTimeoutMs: 2_000,
    /** How long reports of carriers are awaited, and how long after the first of them. */
    reportsWithinMs: 800,
    reportsStallMs: 150,
    /** Reports that are read: nodes × threads, each within one NATS payload. */
    reportsMax: 256,
    /** How long the CLI waits until every node of the carrier has applied its command. */
    effectiveWithinMs: 3_000,
    reasonCharsMax: 200,
    /** Records of DEAD that one CLI command reads. */
    deadReadMax: 10_000,
    /** The audit log's writer: one pull for commands, the pause after a failure, and its ack_wait. */
    auditPullMs: 1_000,
    auditRetryMs: 1_000,
    auditAckWaitMs: 30_000,
    /** Commands between two clean-ups of the stream, and how many records one reads: 10,000 × ~400 B. */
    tidyEvery: 50,
    tidyMax: 10_000,
    /** Interval at which the states of all consumers are read. */
    streamsLookEveryMs: 5_000,
    /** Each step of a bind that the doctor tries: connection, bind response, enquire_link response. */
    probeStepMs: 5_000,
  },
  ...recordLimits,
  ...waitingLimits,
  supervision: {
    /** A child may take this long to drain. Carriers have more, by their response timers: config/drain-times.ts. */
    drainMs: 12_000,
    /**
     * What a drain of carriers takes besides waiting for responses: chosen PDUs are written, the last responses arrive,
     * their events become durable, connections are closed. Each takes milliseconds where nothing is slow.
     */
    drainSteps: { writeMs: 2_500, answerMarginMs: 500, eventsMs: 3_000, closeMs: 1_500 },
    /** `limits.drain_s_max` in heliograph.yaml: longer than the longest response timer with all steps. */
    carriersDrainMsMax: 90_000,
    /** For a child that is stopped before it was ready. */
    unreadyDrainMs: 2_000,
    /** After the supervisor died: embedded servers stop after embeddedGraceMs, so roles must have ended before. */
    orphanDrainMs: 3_000,
    embeddedGraceMs: 4_000,
    /** PostgreSQL writes its last checkpoint, nats-server its streams. */
    embeddedStopMs: 10_000,
    /** Between SIGTERM and SIGKILL of the process that guards an embedded server. */
    embeddedKillMs: 3_000,
    healthEveryMs: 1_000,
    /** An embedded nats-server without a response at four checks in a row, some 20 to 35 s, hangs and is restarted. */
    natsWatch: { lookEveryMs: 5_000, silencesMax: 4 },
    /** A child not ready after this long is killed; that counts as a crash. */
    startMs: 30_000,
    metricsAnswerMs: 2_000,
    /** Immediate restarts after a crash: five, and one more for each refill interval. */
    restartBurst: 5,
    restartRefillMs: 30_000,
    restartBackoffBaseMs: 200,
    restartBackoffCapMs: 5_000,
    /** With the budget spent: an alarm, and retries at this interval. */
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
  'an ingress thread that reads idempotency keys ahead would be killed as one that does not start',
);
assert(
  limits.http.batch.beginMs + limits.scheduled.countMs + limits.http.scheduledMs < limits.idempotency.leaseMs,
  'an idempotency lease could be taken over while a batch still waits for the events of its scheduled messages',
);
assert(
  limits.carrier.resendWaitMs > limits.carrier.earlyReceiptWaitMs,
  'a message would be resent before its late receipt was matched',
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
  'the largest PDU would not fit into a flight recorder, or into one of its answers',
);
assert(
  limits.management.requestDeadlineMs > limits.store.statementTimeoutMs + limits.store.connectTimeoutMs,
  'a management request would end before its only statement could',
);
assert(
  limits.supervision.orphanDrainMs < limits.supervision.embeddedGraceMs,
  'nats-server could stop while an orphaned role still settles its messages',
);
assert(
  limits.recorder.insertRowsMax * 2 <= limits.recorder.heldRowsMax,
  'the recorder could not collect a batch while it inserts another',
);
const { publishMs, unservedMs, forgottenMs } = limits.overflow;
assert(
  publishMs + Math.max(unservedMs, forgottenMs) + limits.carrier.ackWaitMs < limits.bus.duplicateWindowMs,
  'a record could be moved to overflow twice, because the stream has forgotten the id of the first move',
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
