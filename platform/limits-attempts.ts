// Bounds of what is kept of requests to webhook endpoints (WEBHOOK_ATTEMPTS). Read as `limits.webhookAttempts`.

const second = 1_000;

export const attemptLimits = {
  /** Attempts are stored together. A process that is killed loses those it had gathered, never an event. */
  failedStoredAfterMs: second,
  succeededStoredAfterMs: 10 * second,
  /** Attempts of one record: 32 × ~1.5 KB, at most 32 × 22 KB. */
  perRecordMax: 32,
  /** Records of an endpoint, of successes and of failures; older ones go. A busy endpoint's ~3 KB × 200 = 600 KB. */
  recordsMax: 200,
  /** Successes of an endpoint that are kept: so many at once, then one in so long. 1,000 busy ones are 200/s. */
  succeededBurst: 20,
  succeededEveryMs: 5 * second,
  /** Failures, of which an endpoint that fails has few. */
  failedBurst: 200,
  failedEveryMs: second,
  /** Characters that are kept of a request's body, and of a response's headers. */
  requestBodyChars: 4_096,
  responseHeadersChars: 2_048,
  /** How long they are kept, unless heliograph.yaml says otherwise (limits.webhook_attempt_days). */
  daysDefault: 7,
  /** Publishes in flight: beyond, attempts are not kept. */
  publishesMax: 1_024,
} as const;
