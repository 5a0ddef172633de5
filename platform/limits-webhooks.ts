// Bounds of webhooks: what an account may register, and how its endpoints are served. Read as `limits.webhooks`.

export const webhookLimits = {
  /** Endpoints of both modes. Each is a directory entry of some 700 B, in every ingress thread. */
  perAccountMax: 50,
  /** Room for a path with a token in it. A directory entry stays under 4 KiB. */
  urlCharsMax: 1_000,
  descriptionCharsMax: 200,
  /** Secrets that sign at once: the newest, and two in overlap. Each adds a signature of 48 characters to every request. */
  secretsMax: 3,
  overlapSecondsDefault: 24 * 3_600,
  overlapSecondsMax: 7 * 24 * 3_600,
  /** Events of one request: 20 of some 700 B stay under the 20 kB that Standard Webhooks advises. */
  batchMax: 20,
  batchWaitMsMax: 10_000,
  /** How long the management API waits for the delivery process: less than its own deadline of a request. */
  askMs: 7_000,
} as const;
