// The part of limits.ts about nodes that share carriers: how long a node is believed without a word of it. A file of
// its own only for its length; it is read as `limits`. No two machines' clocks are compared: each of these is
// measured by one node on its own monotonic clock.
import { assert } from './assert.ts';

export const leaseLimits = {
  leases: {
    /** How often a node says that it lives: one compare-and-set each time and thread, however many binds it holds. */
    heartbeatEveryMs: 500,
    /** A heartbeat that was not answered is tried again after this. */
    heartbeatRetryMs: 200,
    requestTimeoutMs: 700,
    /** A node writes nothing to any carrier this long after it began its last heartbeat that was acknowledged. */
    fenceAfterMs: 2_600,
    /** A node whose heartbeat others have seen unchanged for this long is declared dead; then its binds are free. */
    expireAfterMs: 4_100,
    lookEveryMs: 200,
    /** A bind that is not claimed although it is assigned goes to the first node that claims it. */
    freeGraceMs: 2_000,
    /**
     * The share of a bind counts this long after its last owner has ended: its segments are out of the carrier's
     * second.
     */
    shareWaitMs: 1_050,
    /** The watch of the bucket is reopened when our own heartbeat has not come back through it for this long. */
    watchStalledMs: 3_000,
    /** A watch that has not delivered by then what is in the bucket is given up for another one. */
    loadedWithinMs: 5_000,
    /** So often at the start; then the role ends, and its supervisor starts it again. */
    watchTriesMax: 4,
    valueBytesMax: 8 * 1024,
    /** A bind that is given up for another node: what is written gets this long to be answered. */
    handOverMs: 6_000,
  },
  unseenRecords: {
    /**
     * Looks (streamsLookEveryMs apart) at which a consumer did not see what its stream has, before another server is asked to
     * lead it: ten seconds, and up to ten more by chance, so that one node is first.
     */
    looksMin: 2,
    looksSpread: 2,
    /** Records published once more at one look, of one consumer. */
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
  'two heartbeats in a row that got no answer would fence a healthy node',
);
