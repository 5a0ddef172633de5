// Bounds of the bus: publishes, events, records that wait for their time. The sizes of the streams are in
// limits-streams.ts. Read as `limits`.
export const busLimits = {
  bus: {
    /** To one stream: 512 × ~400 bytes = 200 KiB in the socket; more only adds latency (measured: 500 saturates). */
    publishesInFlightMax: 1_024,
    publishTimeoutMs: 2_000,
    /** Of lines about consumers that are reopened, of one connection. */
    consumerLogEveryMs: 10_000,
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
