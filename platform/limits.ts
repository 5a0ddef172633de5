// Every bound of the system, with its arithmetic. Relations between bounds are asserted at load, so a
// change that breaks one stops the start instead of losing a message.
import { assert } from './assert.ts';

export const limits = {
  http: {
    /** 1,000 messages of a batch at about 250 bytes each. */
    bodyBytesMax: 256 * 1024,
    /** More than this and uWebSockets.js would let the request hang. */
    headersMax: 100,
    idempotencyKeyCharsMax: 255,
    clientReferenceCharsMax: 255,
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
    /** A receipt may come this long after the validity ended; then the message is `unknown`. */
    receiptGraceMs: 3_600_000,
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
    /** One bucket of LATER is held in memory by the releaser while it is due. */
    laterBucketMs: 10_000,
    laterHeldMax: 4_096,
    /** Longer than this and a record goes through LATER: a delayed nak holds an ack-pending slot. */
    nakDelayMsMax: 1_000,
    deliveriesMax: 8,
  },
  idempotency: {
    ttlMs: 24 * 3_600_000,
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
    /** Messages an actor remembers for receipts before it asks the event store: 1M × ~200 B = 200 MB. */
    outstandingMax: 1_000_000,
  },
  supervision: {
    /** A child may take this long to drain: in-flight submits wait for at most one response timer. */
    drainMs: 12_000,
    /** The supervisor died: embedded servers follow after embeddedGraceMs, so be gone before. */
    orphanDrainMs: 3_000,
    embeddedGraceMs: 4_000,
    /** After SIGTERM by the tether, before SIGKILL. */
    embeddedKillMs: 3_000,
    healthEveryMs: 1_000,
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
  limits.bus.publishTimeoutMs * limits.bus.publishAttemptsMax < limits.idempotency.leaseMs,
  'an idempotency lease could be taken over while its first owner still publishes',
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
  limits.supervision.orphanDrainMs < limits.supervision.embeddedGraceMs,
  'nats-server could stop while an orphaned role still settles what it holds',
);
assert(
  limits.supervision.drainMs > limits.carrier.responseTimerMs,
  'a drain could end before the last submit had its chance of an answer',
);
