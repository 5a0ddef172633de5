// The part of limits.ts about nodes that share carriers: how long a silent node keeps its leases. Clocks of two
// machines are never compared: each node measures these times on its own monotonic clock. A separate file only for its
// length; read as `limits`.
import { assert } from './assert.ts';

export const leaseLimits = {
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

const { leases } = leaseLimits;
assert(
  leases.expireAfterMs - leases.fenceAfterMs > leases.shareWaitMs + 2 * leases.lookEveryMs,
  'a new owner could submit into the last second of a fenced one',
);
assert(
  leases.fenceAfterMs > leases.heartbeatEveryMs + 2 * (leases.requestTimeoutMs + leases.heartbeatRetryMs),
  'two unanswered heartbeats in a row would fence a healthy node',
);
