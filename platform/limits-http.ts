// Bounds of HTTP requests: bodies, texts, templates, keys, rates, suppressed numbers. Read as `limits`.

export const httpLimits = {
  http: {
    /** How long a message that is no OTP waits for others of its thread: at 5,000/s five share one write to NATS. */
    publishGatherMs: 1,
    /** 1,000 messages of a batch at about 250 bytes each. */
    bodyBytesMax: 256 * 1024,
    /** Objects and lists within one another. No body of ours has six; 100,000 cost 60 ms of CPU to parse. */
    bodyDepthMax: 32,
    /** Fields of one object. No object of ours has fifty; 20,000 cost 50 ms of CPU to parse and to name in the answer. */
    objectFieldsMax: 1_000,
    /** uWebSockets.js 20.51 answers 431 by itself from the 99th header line on (measured; older ones hung). */
    headersMax: 98,
    idempotencyKeyCharsMax: 255,
    clientReferenceCharsMax: 255,
    /** uWebSockets.js answers 431 above it (it counts the request line and the names too). */
    headerBytesMax: 16 * 1024,
    requestIdCharsMax: 128,
    /** Wrong fields that one answer reports. */
    fieldProblemsMax: 10,
    /** The whole body must have arrived by then: below the 10 s after which uWebSockets.js drops an idle connection. */
    bodyMs: 8_000,
    /** Minimum mean rate of a body after the grace period, which is long enough for two lost packets to be resent. */
    bodyBytesPerS: 1_024,
    bodyGraceMs: 3_000,
    /** From a request that is forwarded to the control role to the head of its answer; limits-shares.ts bounds how many a thread has pending. */
    forwardMs: 10_000,
    /** The longest pause within such an answer: an export may wait `exports.sliceWaitMs` for its next slice, and is then answered. */
    forwardStalledMs: 75_000,
    /** Octets of its answer that are forwarded in one write: more than any answer but a documentation page has. */
    forwardedAtOnceBytes: 64 * 1024,
    /** Deadline of status and list queries; the event store answers with an error at 2 s. */
    statusMs: 3_000,
    /** Above this share of EVENTS the ingress refuses: every accepted message still needs room for its events. */
    eventsFullShare: 0.9,
    streamLookMs: 1_000,
    /** Claiming a key (3 s) and publishing the message (6 s) must both end within the lease of 10 s. */
    idempotencyWrites: { timeoutMs: 1_000, deadlineMs: 3_000 },
    /**
     * Checks of the main thread, one a second, at which a listening thread did not respond: after reportLooks of them
     * it counts as blocked and the role as not ready; after giveUpLooks the role exits and is restarted. On a busy
     * machine a thread misses one or two.
     */
    blockedThread: { reportLooks: 4, giveUpLooks: 30 },
    batch: {
      messagesMax: 1_000,
      /** Items of a batch being published at once: their acknowledgements arrive in one turn, 32 × ~15 µs = 0.5 ms. */
      inFlightMax: 32,
      /** Work between two turns of the event loop, so that no other request waits more than 5 ms for a batch. */
      sliceMs: 1,
      /**
       * While single messages arrive, and for so long after the last one, bulk work pauses between slices: for pauseMs
       * where it only writes texts, and as long as bulkPace says where it accepts messages.
       */
      besideSingles: { pauseMs: 16, forMs: 1_000 },
      /** Batches of so many items or more are large. Of them so many are at work alone, and beside single messages. */
      largeFrom: 100,
      atOnceMax: 2,
      atOnceBesideSingles: 1,
      /** The first slice is not paused: a batch of so many is as fast as a single message. */
      firstItems: 16,
      /** However slow the pace or the machine, a batch starts its items within this share of beginMs: what is late is not paced. */
      beginShare: 0.9,
      /** What waits longer for its place is refused whole: at the slowest pace two batches of 1,000 pass meanwhile. */
      waitMsMax: 15_000,
      /** No item is started later: with the 6 s of one publish it ends within the idempotency lease. */
      beginMs: 7_500,
      /**
       * Texts of distinct refusals in the answer stored under an idempotency key; with 1,000 letters, 1,000 positions
       * of five octets and a bare refusal for each code the whole stays under keptAnswerBytesMax.
       */
      keptRefusalBytesMax: 40 * 1024,
      keptAnswerBytesMax: 64 * 1024,
      /** Queries to the event store for items that a first attempt may have published. */
      askedMax: 32,
    },
    /**
     * A scheduled message is answered when its `scheduled` event is durable too, or after this: a batch that starts its
     * last item at beginMs still ends within the idempotency lease.
     */
    scheduledMs: 6_050,
    /** Requests of one thread that wait for the result of another request with the same idempotency key. */
    idempotencyWaitersMax: 256,
  },
  /** The pace at which bulk work accepts messages beside single ones (decision 174; bench: tenants). */
  bulkPace: {
    /** Messages a second of one thread. At the slowest a batch of 1,000 begins its last item after 6.3 s, in time (beginShare). */
    first: 300,
    min: 160,
    max: 100_000,
    /** For each message that is accepted: a tenth more after a second, from 300 to 3,000 after 24. */
    growth: 0.1,
    /** A slice has the messages of sliceEveryMs, at most itemsMax: at more than 6,400 a second the pauses are shorter. */
    sliceEveryMs: 10,
    itemsMax: 64,
    shrinkTo: 0.5,
    /** The effect of a change shows in the next reports, which come five times a second. */
    shrinkEveryMs: 500,
    /** Half-life of the counts of OTP: at 50 a second they hold some 290 intents and as many publishes. */
    halfLifeMs: 4_000,
    /** Slow ones beyond this share, and more than slowMin, are the work of others. */
    slowShareMax: 0.005,
    slowMin: 1.5,
    /** Slow is more than twice the usual time and this; the usual time moves by a hundredth for each one. */
    slow: { usualFactor: 2, marginMs: 3, step: 0.01 },
  },
  message: {
    segmentsMax: 10,
    /** GSM-7 allows the most units, 10 × 153; UCS-2 10 × 67. A text of more units never fits. */
    textUnitsMax: 10 * 153,
    /** An OTP older than five minutes is useless. */
    validityOtpMs: 5 * 60_000,
    validityDefaultMs: 48 * 3_600_000,
    validitySecondsMin: 1,
    validitySecondsMax: 48 * 3_600,
    /** How far ahead `send_at` may be: a day less than the releaser's search for overdue records. */
    sendAtDaysMax: 35,
    /** A receipt may arrive this long after the validity ended; then the message is `unknown`. */
    receiptGraceMs: 3_600_000,
  },
  templates: {
    /** The length of the longest message. */
    bodyCharsMax: 1_530,
    variablesMax: 10,
    textCharsDefault: 160,
    textCharsMax: 500,
    codeDigitsDefault: 6,
    codeDigitsMax: 12,
    urlCharsMax: 500,
    /** A text that matches no template costs at most 200 × 21 parts × 1,530 characters: 6 ms, when all start alike. */
    perAccountMax: 200,
  },
  content: {
    /** An account's word list is a part of its directory entry: 500 × ~16 characters = 8 KiB. */
    wordsMax: 500,
    wordCharsMax: 64,
    wordsInPhraseMax: 6,
    domainsMax: 500,
    domainCharsMax: 253,
  },
  access: {
    /** One log line about refused keys in this time, in each thread: a flood of requests must not flood the log. */
    refusedLogEveryMs: 1_000,
    /** The one rate shared by all keys and accounts for which the table has no slot. */
    overflowPerSecond: 50,
    /** dry_run requests of an account, because each of them queries the registries. */
    dryRunsPerSecond: 1,
    dryRunsBurst: 60,
    networksMax: 100,
    requestsPerSecondMax: 100_000,
    burstMax: 1_000_000,
    /** Keys and accounts whose rates one ingress process keeps: 65,536 × 16 B = 1 MiB, shared by its threads. */
    ratesMax: 65_536,
    /** Names whose place in a table of rates a thread remembers, so that it need not hash them: 4,096 × ~200 B = 1 MB. */
    placesRemembered: 4_096,
    /** Addresses of one X-Forwarded-For or Forwarded header that are evaluated. */
    proxyHopsMax: 20,
  },
  suppression: {
    /** One account's numbers: 1,000,000 × 8 B = 8 MB in every ingress thread and every actor thread. */
    perAccountMax: 1_000_000,
    /** One request: 10,000 × ~17 B stays under the body cap. */
    importMax: 10_000,
    /**
     * Written in parts, with a pause before each further part of any import: 1,000 numbers take PostgreSQL and the
     * control role some 20 ms, so imports together take a quarter of a processor. One takes 0.7 s, four at once 3 s, less
     * than half of a request's deadline.
     */
    importPartMax: 1_000,
    importPauseMs: 60,
    /** Blocks written between two checks for changes of keys and accounts, so that an import does not delay those. */
    blocksPerPass: 16,
  },
  audit: {
    /**
     * Refused requests that one thread records for one account: a burst of two whole batches, then so many a second;
     * the rest is only counted. 20 a second are 1.7 million, some 600 MB of EVENTS a day.
     */
    refusalsPerAccountBurst: 2_000,
    refusalsPerAccountPerSecond: 20,
    refusalsBurst: 10_000,
    refusalsPerSecond: 200,
    /** Accounts whose refusal rates a thread keeps; if all exceed theirs, refusals of others are only counted. */
    accountsMax: 10_000,
  },
  idempotency: {
    ttlMs: 24 * 3_600_000,
    /** Keys are stored on pages. A page and each archive is a subject: 2^14 × 13 × ~250 B of server memory = 53 MB. */
    pages: 2 ** 14,
    /**
     * After this period the content of a page is archived. Only the rest is read and written, and held in the server's
     * memory: 2 h × 300/s × ~20 B = 43 MB. A page names the archives of the 32 periods before.
     */
    periodMs: 2 * 3_600_000,
    /** A longer answer gets a record of its own; the answer for one message takes one to six octets. */
    answerOctetsOnPage: 64,
    /** A long answer counts as one more key of the quota for each so many octets. */
    octetsPerKey: 64,
    /** Pages one thread keeps between the read and the answer: 4,096 × ~2 KiB = 8 MB. */
    pagesRememberedMax: 4_096,
    /** A read of a page fails after readMs: a server that has just started loads its whole store at the first reads. */
    readMs: 5_000,
    readTryMs: 1_500,
    readAgainMs: 100,
    /**
     * A starting thread reads all archives once: 26 million keys are 530 MB and take some seconds. It starts to serve
     * after readAheadMs in any case and continues to read.
     */
    readAheadMs: 20_000,
    readAheadEndMs: 120_000,
    /** Archives of ~2.7 KiB in transit to it: 5.5 MB. */
    readAheadRecords: 2_048,
    /** An automatic key (auto_<ms>_…) is valid for this long: with the 6 s of a publish within the duplicate window. */
    automaticKeyMs: 20_000,
    /** How far the client's clock may be ahead of ours. */
    automaticKeyAheadMs: 5_000,
    /** Keys an account may use in an hour unless its limit is set: docs/idempotency.md has the arithmetic. */
    keysPerHourDefault: 50_000,
    keysPerHourMax: 10_000_000,
    /** A publish fails after publishTimeoutMs × publishAttemptsMax; after the lease nobody works on the key. */
    leaseMs: 14_500,
  },
} as const;
