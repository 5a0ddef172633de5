// Bounds of webhooks: what an account may register, and how its endpoints are served. Read as `limits.webhooks`.

export const webhookLimits = {
  /** Endpoints of both modes. Each is a directory entry of some 700 B, in every ingress thread. */
  perAccountMax: 50,
  /** Room for a path with a token in it. A directory entry stays under 4 KiB. */
  urlCharsMax: 1_000,
  descriptionCharsMax: 200,
  /** Events of one request: 100 × ~0.7 KB, at most 300 KB when all are long texts of subscribers. */
  batchEventsMin: 2,
  batchEventsMax: 100,
  /** How long an event may wait for others: below the time after which an endpoint counts as slow. */
  batchWaitMsMin: 10,
  batchWaitMsMax: 5_000,
  /** Secrets that sign at once: the newest, and two in overlap. Each adds a signature of 48 characters to every request. */
  secretsMax: 3,
  overlapSecondsDefault: 24 * 3_600,
  overlapSecondsMax: 7 * 24 * 3_600,
  /** How long the management API waits for the delivery process: less than its own deadline of a request. */
  askMs: 7_000,
  /** Listening to events of test messages, in each control process. */
  listen: {
    /** Accounts that listen at once: each holds at most 500 events of ~700 B, 350 KiB. */
    accountsMax: 32,
    eventsMax: 500,
    /** Events of one answer: ~70 KB. */
    pageMax: 100,
    /** The longest wait of one request; below the deadline of a management request. */
    waitSecondsMax: 5,
    /** An account that did not ask for so long does not listen any more. */
    idleMs: 30_000,
    sweepEveryMs: 1_000,
    /** Records of EVENTS that are read again for a listener who was here before a restart. */
    backMax: 20_000,
    prefetch: 256,
  },
} as const;
