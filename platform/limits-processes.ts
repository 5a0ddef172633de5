// Bounds of processes and nodes: start, drain and restart, the watched configuration, the cluster's clock, and how long a
// silent node keeps its leases. Clocks of two machines are never compared for a lease: each node measures these times on
// its own monotonic clock. Read as `limits`.
import { assert } from './assert.ts';

export const processLimits = {
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
    /**
     * A role says once a second that its event loop turns, and the supervisor looks as often. After 10 looks without a word a role is
     * reported as hung, after 60 it is ended and restarted: collections of garbage and large reloads take a second or two, and ending
     * the carriers leaves what they wait for `unknown`. Looks, not time: a machine that was suspended has no hung process.
     */
    hungRole: { reportLooks: 10, restartLooks: 60 },
    /** Embedded servers are asked every 5 s and have up to 4 s to answer: two unanswered checks. */
    hungServer: { reportLooks: 20, restartLooks: null },
    /** Of a check of an embedded server: to connect, and again to answer. */
    serverAskMs: 2_000,
    /** How often PostgreSQL is asked; nats-server: natsWatch. */
    postgresWatch: { lookEveryMs: 5_000 },
    /** An embedded nats-server without a response at four checks in a row, some 20 to 35 s, hangs and is restarted. */
    natsWatch: {
      ...{ lookEveryMs: 5_000, silencesMax: 4 },
      /** With so much space on its disk, a record that it could not store is no matter of space. */
      spaceBytesMin: 16 * 2 ** 20,
    },
    /** A child not ready after this long is killed; that counts as a crash. */
    startMs: 30_000,
    /** After an upgrade it fills the new tables of the event store first; killed meanwhile it would begin again. */
    analyticsStartMs: 900_000,
    metricsAnswerMs: 2_000,
    /** Immediate restarts after a crash: five, and one more for each refill interval. */
    restartBurst: 5,
    restartRefillMs: 30_000,
    restartBackoffBaseMs: 200,
    restartBackoffCapMs: 5_000,
    /** With the budget spent: an alarm, and retries at this interval. */
    restartFailedEveryMs: 30_000,
  },
  configuration: {
    lookEveryMs: 200,
    /** The file is missing for so many looks, five seconds: nobody is replacing it. */
    unreadableLooksMax: 25,
    bytesMax: 4 * 1024 * 1024,
  },
  clusterClock: {
    everyMs: 1_000,
    askMs: 2_000,
    /** A machine whose clock is further off takes no work: validity and due times are promised to the second. */
    offMsMax: 1_000,
    /** A timestamp with a longer round trip is too inaccurate to use. */
    roundTripMsMax: 500,
    /** How often a starting role compares until an answer is in time; each comparison ends within two seconds. */
    firstLooksMax: 5,
    /** How long the measurement of another machine counts. */
    staleMs: 5_000,
    /** A step of the clock, or a changed verdict, counts after this many measurements in a row. */
    roundsToBelieve: 3,
    nodesMax: 64,
  },
  removedCarriers: {
    /** Checked at the start and every half minute: the subjects and consumers of four streams. */
    lookEveryMs: 30_000,
    /** After a scheduled message was released to such a carrier. */
    lookSoonMs: 1_000,
    /** A node that lost its lease publishes nothing any more: its pending records are released after this. */
    cutDrainMs: 500,
    callMs: 5_000,
    /** Other nodes may still have the carrier: longer than a dead node's leases, and ten heartbeats of a living one. */
    unservedMs: 10_000,
  },
  leases: {
    /** Interval of a node's heartbeat: one compare-and-set each time and thread, however many binds it holds. */
    heartbeatEveryMs: 500,
    /** Delay before an unanswered heartbeat is retried. */
    heartbeatRetryMs: 200,
    requestTimeoutMs: 700,
    /** A node stops writing to carriers this long after the start of its last acknowledged heartbeat. */
    fenceAfterMs: 2_600,
    /** Other nodes declare a node dead when its heartbeat has not changed for this long; then its binds are free. */
    expireAfterMs: 4_100,
    lookEveryMs: 200,
    /** A bind that its assigned node does not claim within this goes to the first node that claims it. */
    freeGraceMs: 2_000,
    /** The share of a bind counts this long after its owner ended: its segments have left the window of one second. */
    shareWaitMs: 1_050,
    /** The watch of the bucket is reopened when it has not delivered our own heartbeat for this long. */
    watchStalledMs: 3_000,
    /** A watch that has not delivered the bucket's content within this is replaced. */
    loadedWithinMs: 5_000,
    /** Attempts to open the watch at the start; then the role exits, and its supervisor restarts it. */
    watchTriesMax: 4,
    valueBytesMax: 8 * 1024,
    /** How long pending submits of a bind that is handed to another node wait for their responses. */
    handOverMs: 6_000,
  },
  unseenRecords: {
    /**
     * Checks (streamsLookEveryMs apart) at which a consumer did not see a record of its stream, before another server
     * becomes its leader: ten seconds, and a random delay of up to ten more, so that one node acts first.
     */
    looksMin: 2,
    looksSpread: 2,
    /** Records republished at one check, for one consumer. */
    republishedMax: 256,
  },
} as const;

const { leases, supervision } = processLimits;
assert(
  supervision.orphanDrainMs < supervision.embeddedGraceMs,
  'nats-server could stop while an orphaned role still settles its messages',
);
assert(
  supervision.hungServer.reportLooks * supervision.healthEveryMs >
    2 * (supervision.postgresWatch.lookEveryMs + 2 * supervision.serverAskMs),
  'an embedded server could be reported as hung after one slow answer',
);
assert(
  leases.expireAfterMs - leases.fenceAfterMs > leases.shareWaitMs + 2 * leases.lookEveryMs,
  'a new owner could submit into the last second of a fenced one',
);
assert(
  leases.fenceAfterMs > leases.heartbeatEveryMs + 2 * (leases.requestTimeoutMs + leases.heartbeatRetryMs),
  'two unanswered heartbeats in a row would fence a healthy node',
);
