// The part of limits.ts about the cluster's clock, removed carriers and scheduled messages. A separate file only for
// its length; read as `limits`.

export const waitingLimits = {
  clusterClock: {
    everyMs: 1_000,
    askMs: 2_000,
    /** A machine whose clock is further off takes no work: validity and due times are promised to the second. */
    offMsMax: 1_000,
    /** A timestamp with a longer round trip is too inaccurate to use. */
    roundTripMsMax: 500,
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
  scheduled: {
    /** Octets of one unit of limits.shares.scheduled_messages: most messages take one unit, the longest four. */
    unitBytes: 1_024,
    /** Subject, headers and JetStream's own octets of a record, beside the message. */
    recordBytes: 320,
    /** How long a scheduled message waits to be counted: with its claim and its publish it ends within the lease. */
    countMs: 900,
    /** Counted in one write. */
    gatheredMax: 1_024,
    /** Accounts whose counts a thread keeps: 1,000 × at most 865 hours × ~40 B = 35 MB. */
    accountsMax: 1_000,
    /** The greatest age of a count on which an account is refused. */
    refusalMs: 1_000,
  },
} as const;
