// The part of limits.ts about what comes in: requests, their texts, templates and keys, who may ask how often, whom
// nobody may write to. A file of its own only for its length; it is read as `limits`.

export const httpLimits = {
  http: {
    /** How long a message that is no OTP waits for others of its thread: at 5,000/s five share one write to NATS. */
    publishGatherMs: 1,
    /** 1,000 messages of a batch at about 250 bytes each. */
    bodyBytesMax: 256 * 1024,
    /** uWebSockets.js 20.51 answers 431 by itself from the 99th header line on (measured; older ones hung). */
    headersMax: 98,
    idempotencyKeyCharsMax: 255,
    clientReferenceCharsMax: 255,
    /** uWebSockets.js answers 431 above it (it counts the request line and the names too). */
    headerBytesMax: 16 * 1024,
    requestIdCharsMax: 128,
    /** Wrong fields reported at once; more would only repeat themselves. */
    fieldProblemsMax: 10,
    /** The whole body must be there by then: below the 10 s after which uWebSockets.js drops an idle connection. */
    bodyMs: 8_000,
    /** And it must come at this rate on the mean, once the grace is over: two lost packets are resent by then. */
    bodyBytesPerS: 1_024,
    bodyGraceMs: 3_000,
    /** A request on its way to the control role; how many a thread lets wait: limits-shares.ts. */
    forwardMs: 10_000,
    /** Of its answer so much is passed on as it comes: any but a page, and what one write gives the kernel. */
    forwardedAtOnceBytes: 64 * 1024,
    /** Status and list questions: the store gives up by itself at 2 s and says so. */
    statusMs: 3_000,
    /** Above this share of EVENTS the ingress refuses: every accepted message still needs room for its events. */
    eventsFullShare: 0.9,
    eventsLookMs: 1_000,
    /** Claiming a key (3 s) and publishing the message (6 s) must both end within the lease of 10 s. */
    idempotencyWrites: { timeoutMs: 1_000, deadlineMs: 3_000 },
    /**
     * Looks of the main thread, one a second, in which a listening thread was not heard: then it is blocked, and no
     * longer ready; and after so many the role ends and is restarted. A thread of a busy machine is late by one or two.
     */
    blockedThread: { reportLooks: 4, giveUpLooks: 30 },
    batch: {
      messagesMax: 1_000,
      /** Items on their way to the bus at once: their acknowledgements come in one turn, 32 × ~15 µs = 0.5 ms. */
      inFlightMax: 32,
      /** Work between two turns of the event loop, so that nobody waits more than 5 ms behind a batch. */
      sliceMs: 1,
      /** No item is begun later: with the 6 s one publish may take it ends within the idempotency lease of 10 s. */
      beginMs: 3_000,
      /**
       * Texts of different refusals in the answer that is kept under an idempotency key; with 1,000 letters, 1,000 places
       * of five octets and a bare refusal for each code the whole stays under keptAnswerBytesMax.
       */
      keptRefusalBytesMax: 40 * 1024,
      keptAnswerBytesMax: 64 * 1024,
      /** Questions to the event store for items that a first try may have published. */
      askedMax: 32,
    },
    /**
     * A message for later is answered when its `scheduled` event is durable too, and no later than this: a batch that
     * begins its last item after beginMs still ends within the idempotency lease.
     */
    scheduledMs: 6_050,
    /** Requests of one thread that wait for the answer to the same idempotency key. */
    idempotencyWaitersMax: 256,
  },
  message: {
    segmentsMax: 10,
    /** UCS-2 takes the most: 10 × 67 units, and no text of more units can fit. GSM-7: 10 × 153. */
    textUnitsMax: 10 * 153,
    /** An OTP that is five minutes old is of no use to anybody. */
    validityOtpMs: 5 * 60_000,
    validityDefaultMs: 48 * 3_600_000,
    validitySecondsMin: 1,
    validitySecondsMax: 48 * 3_600,
    /** How far ahead `send_at` may lie: a day less than LATER looks back for what it missed. */
    sendAtDaysMax: 35,
    /** A receipt may come this long after the validity ended; then the message is `unknown`. */
    receiptGraceMs: 3_600_000,
  },
  templates: {
    /** As long as the longest message can be. */
    bodyCharsMax: 1_530,
    variablesMax: 10,
    textCharsDefault: 160,
    textCharsMax: 500,
    codeDigitsDefault: 6,
    codeDigitsMax: 12,
    urlCharsMax: 500,
    /** A text that matches none costs at most 200 × 21 parts × 1,530 characters: 6 ms, when all begin alike. */
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
    /** A line of a refused key, in each thread. A flood of them must not be one of lines. */
    refusedLogEveryMs: 1_000,
    /** All whose own rate has no place in the table share this one. */
    overflowPerSecond: 50,
    /** dry_run requests of an account: each asks the registries and shows no trace to anybody else. */
    dryRunsPerSecond: 1,
    dryRunsBurst: 60,
    networksMax: 100,
    requestsPerSecondMax: 100_000,
    burstMax: 1_000_000,
    /** Keys and accounts whose rates one ingress process keeps: 65,536 × 16 B = 1 MiB, shared by its threads. */
    ratesMax: 65_536,
    /** Addresses in one X-Forwarded-For or Forwarded header that are looked at. */
    proxyHopsMax: 20,
  },
  suppression: {
    /** One account's numbers: 1,000,000 × 8 B = 8 MB in every ingress thread and every actor thread. */
    perAccountMax: 1_000_000,
    /** One request: 10,000 × ~17 B stays under the body cap. */
    importMax: 10_000,
    /** Blocks written between two looks at changes of keys and accounts, which must not wait behind an import. */
    blocksPerPass: 16,
  },
  audit: {
    /**
     * Refused requests one thread records for one account: so many at once, two whole batches of them, and then so many a
     * second; the rest is only counted. 20 a second are 1.7 million, some 600 MB of EVENTS a day.
     */
    refusalsPerAccountBurst: 2_000,
    refusalsPerAccountPerSecond: 20,
    refusalsBurst: 10_000,
    refusalsPerSecond: 200,
    /** Accounts whose refusals are remembered; when all of them are in a flood, the next one is only counted. */
    accountsMax: 10_000,
  },
  idempotency: {
    ttlMs: 24 * 3_600_000,
    /**
     * Keys lie on pages. Each is a subject, and so are its archives: 2^14 × 13 × ~250 B of nats-server's memory = 53
     * MB.
     */
    pages: 2 ** 14,
    /**
     * Then what is on a page is archived. Only what is not is read and written, 2 h × 300/s × ~20 B = 43 MB, and so is
     * in the server's memory. A page names the archives of the 32 periods before.
     */
    periodMs: 2 * 3_600_000,
    /** An answer that is longer lies in a record of its own; that of one message takes one to six octets. */
    answerOctetsOnPage: 64,
    /** A long answer counts as one more key of the quota for each so many octets. */
    octetsPerKey: 64,
    /** Pages one thread remembers from the read to the answer: 4,096 × ~2 KiB = 8 MB. */
    pagesRememberedMax: 4_096,
    /**
     * A read of a page is given up after readMs: a server that has just started loads its whole store with the first
     * reads.
     */
    readMs: 5_000,
    readTryMs: 1_500,
    readAgainMs: 100,
    /**
     * A thread reads once what is archived, 26 million keys are 530 MB and some seconds, starts after this in any case,
     * and reads on.
     */
    readAheadMs: 20_000,
    readAheadEndMs: 120_000,
    /** Archives of ~2.7 KiB on their way to it at once: 5.5 MB. */
    readAheadRecords: 2_048,
    /** An automatic key (auto_<ms>_…) is good for this long: with the 6 s of a publish inside the stream's window. */
    automaticKeyMs: 20_000,
    /** How far the client's clock may be ahead of ours. */
    automaticKeyAheadMs: 5_000,
    /** Keys an account may use in an hour when nothing else was agreed: docs/idempotency.md has the arithmetic. */
    keysPerHourDefault: 50_000,
    keysPerHourMax: 10_000_000,
    /** A publish is given up after publishTimeoutMs × publishAttemptsMax; then nobody else can be working on it. */
    leaseMs: 10_000,
  },
} as const;
