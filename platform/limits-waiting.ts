// The part of limits.ts about what waits for its time and is shared by accounts. A file of its own only for its length;
// it is read as `limits`.

export const waitingLimits = {
  clusterClock: {
    everyMs: 1_000,
    askMs: 2_000,
    /** A machine whose clock is further off takes no work: validity and due times are promised to the second. */
    offMsMax: 1_000,
    /** A stamp that took longer says too little. */
    roundTripMsMax: 500,
    /** What another machine found counts this long. */
    staleMs: 5_000,
    /** A leap of time, or another verdict, counts when so many looks in a row found it. */
    roundsToBelieve: 3,
    nodesMax: 64,
  },
  removedCarriers: {
    /** Looked for at the start and every half minute: the subjects and consumers of four streams. */
    lookEveryMs: 30_000,
    /** After a scheduled message was released to such a carrier. */
    lookSoonMs: 1_000,
    /** Whose lease is lost publishes nothing any more: what it holds is let go. */
    cutDrainMs: 500,
    callMs: 5_000,
    /**
     * Other nodes may still have the carrier: longer than a dead node's leases count, and ten tellings of a living one.
     */
    unservedMs: 10_000,
  },
  scheduled: {
    /** What one unit of limits.shares.scheduled_messages is: the most messages take one, the longest four. */
    unitBytes: 1_024,
    /** Subject, headers and JetStream's own octets of a record, beside the message. */
    recordBytes: 320,
    /**
     * How long a message for later waits until it is counted: with its claim and its publish it ends within the lease.
     */
    countMs: 900,
    /** Counted in one write. */
    gatheredMax: 1_024,
    /** Accounts whose counts a thread remembers: 1,000 × at most 865 hours × ~40 B = 35 MB. */
    accountsMax: 1_000,
    /** An account is refused by what was read this long ago at the most. */
    refusalMs: 1_000,
  },
} as const;
