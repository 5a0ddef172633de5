// Bounds of one-time passwords: their records in the buckets `otp` and `otp_failures`, and the rates that are counted in
// memory. What an operator sets is in heliograph.yaml (otp). Read as `limits`.
import { assert } from './assert.ts';

const hourMs = 3_600_000;

export const otpLimits = {
  otp: {
    ttlSecondsMin: 30,
    /** NIST SP 800-63B, 3.1.3.2: at most ten minutes. */
    ttlSecondsMax: 600,
    ttlSecondsUsual: 300,
    /** A second start has an id of its own and leaves the first one as it is. */
    pendingMax: 2,
    /** A message may take so long: with less time left none is sent again. */
    resendLeastMs: 60_000,
    /** Of those whose message was not accepted, so many stay in the record. */
    notSentKept: 4,
    /** How long one that has ended can be read. */
    keptMs: hourMs,
    /**
     * A record of the bucket `otp` is kept so long after its last write: as long as one that has just ended is kept.
     */
    recordTtlMs: hourMs,
    /** Failed guesses are kept so long after the last one, beside the record, because they count for a day. */
    failuresTtlMs: 24 * hourMs,
    /**
     * Octets of one unit of limits.shares.otp_started. A record with one OTP has ~650 B, with its subject and JetStream's
     * own ~800 B; one that holds several of an hour was written as often.
     */
    recordBytes: 1_024,
    /** ~300 B for a number with failed guesses; 7,200 an hour of an account are 180,000 a day, 54 MB. */
    failuresBucketBytes: 256 * 2 ** 20,
    brandCharsMax: 24,
    purposeCharsMax: 32,
    deviceIdCharsMax: 128,
    domainCharsMax: 253,
    guessCharsMax: 64,
    /** Texts of languages in heliograph.yaml. */
    languagesMax: 100,
    textCharsMax: 160,
    /** Of a limit in heliograph.yaml. A number's own times are in its record: at most so many. */
    limitCountMax: 1_000_000_000,
    numberSendsMax: 20,
    numberGuessesMax: 100,
    /**
     * Names whose rates one ingress process counts: 2^20 × 16 B = 16 MiB, shared by its threads. A name rests when all of
     * its limit is regained: 500 sends a second of one account leave 500 × 3 min = 90,000 devices. Beside them the messages
     * that were counted: 400,000 when all starts of an hour (limits.shares.otp_started) come in 11 minutes.
     */
    ratesMax: 2 ** 20,
    /**
     * Of them, those whose place a thread remembers: the names of one request, which is counted and may be given back. Most
     * come once, and more would reach the old generation of the heap.
     */
    ratePlacesRemembered: 64,
    /**
     * How long it is known that a message was counted: tries of its request may send it until its code has expired, and
     * count when that publish was answered.
     */
    countedMs: 11 * 60_000,
    /** Records that a thread remembers between its own writes: 8,192 × ~1.5 KiB = 12 MB. */
    rememberedMax: 8_192,
    /** One read of a record, repeated while nats-server starts, and the tries of one compare-and-set. */
    readMs: 3_000,
    readTryMs: 1_000,
    readAgainMs: 50,
    triesMax: 64,
    writes: { timeoutMs: 1_000, deadlineMs: 3_000 },
  },
  otpHedging: {
    /** A copy is sent when a carrier takes longer than this share of its recent answers. */
    p99: 0.99,
    /** With fewer answers a p99 is the longest of them. */
    answersMin: 100,
    /** An answer of five minutes ago counts half. */
    halfLifeMs: 300_000,
    /** What waits for an answer is looked at no more often. */
    wakeEveryMs: 5,
    /** Submits that are watched at a time: 1,000 a second for the longest floor of ten seconds, twice; × ~2 KiB = 40 MB. */
    watchedMax: 20_000,
    /** So many younger ones, of which half wait too, show an outage before the share of late ones does. */
    stalledMin: 10,
    /**
     * So many late ones in a row show an outage, also where too few are sent for their share to show it. By chance (p95)
     * three in ten million are the first of such a row.
     */
    lateInARow: 5,
    /** A timer that is so late was held up by our own thread: what has arrived meanwhile is read first. */
    timerLateMs: 50,
    /**
     * The usual times of receipts (docs/otp.md): about the last 1,400 of each operator prefix count. 1,024 prefixes of two
     * generations × ~1.1 KiB = 2.2 MiB for each carrier.
     */
    receiptTimes: {
      p95: 0.95,
      halfLife: 500,
      countMin: 200,
      defaultMs: 8_000,
      seenMin: 20,
      prefixesMax: 1_024,
      idleMs: 3_600_000,
    },
    /**
     * A carrier whose receipts usually take longer is not hedged for them: the record of a message waits for its receipt
     * without an ack, and must come back within the replay window. See the assertion of limits.ts.
     */
    receiptWaitMsMax: 15_000,
    /**
     * Of the records of an account shard that may be without an ack, so many wait for a receipt: with windows of 100 PDUs
     * (556 / 4) 139, with receipts after 0.3 s those of 460 one-time passwords a second. The others are for what is sent
     * and what a flood moves to overflow.
     */
    receiptsHeldShare: 1 / 4,
    /** Copies whose counterpart may be delivered first, and messages of which one was: × ~1 KiB in two generations. */
    copiesMax: 2_000,
    copiesKeptMs: 600_000,
    /** A copy that could not be cancelled within this is delivered or lost; so many wait for a bind. */
    cancelWithinMs: 5_000,
    cancelAgainMs: 100,
    cancelsWaitingMax: 1_000,
    /**
     * Tokens of an account and a pair of carriers: no burst is longer than fifty copies. Two generations of 10,000 pairs
     * × ~150 B = 3 MB in a thread for each carrier that is busy with so many accounts.
     */
    budget: { tokensMax: 50, pairsMax: 10_000, idleMs: 3_600_000 },
  },
  /** The conversion of carriers, in each ingress thread while a route is drawn by it. */
  otpConversion: {
    /** Codes that were sent in the last two minutes: 100,000 × ~250 B = 25 MB, as many as the guard against fraud holds. */
    watchedMax: 100_000,
    /** Carriers × operators × senders of the last hours: 10,000 × ~250 B = 2.5 MB. */
    scoresMax: 10_000,
    carriersMax: 64,
  },
} as const;

/** What the reports of one-time passwords read of times that are over (analytics/otp/summarizer.ts). */
export const otpSummaryLimits = {
  otpSummaries: {
    /**
     * Starts that are summarized together: a third of a half hour, so that a late change has little computed again (60,000
     * at 100 a second).
     */
    spanMs: 600_000,
    /**
     * How long after its end a time is summarized: no code of it is valid any more. Reports read what is younger from the
     * rows themselves: 25 minutes, 150,000 at 100 a second, half of what a report can read; ten more for a minute or two
     * after a late receipt.
     */
    settleMs: 15 * 60_000,
    /**
     * Changes of a time that has been over for so long are noted. The rest of `settleMs` is for clocks of nodes that differ.
     * What is recorded within three minutes is never late, so that it costs no insert.
     */
    lateMs: 14 * 60_000,
    /** How often the worker looks for something to summarize, and for how long it works then: a third of one processor. */
    everyMs: 15_000,
    workMsMax: 5_000,
    /** One summary, for which reports wait in the embedded engine. 60,000 take 0.5 s of a processor. */
    statementMsMax: 2_000,
    /** Of the statements that look for what is to be summarized, for which look-ups of messages wait. */
    askMsMax: 1_500,
    /** And its wait for reports and other statements, which go first. */
    answerMsMax: 30_000,
    otpsAtOnceMax: 100_000,
    accountsAtOnceMax: 500,
    /** Looked through at a time for accounts with one-time passwords. */
    windowMs: 3_600_000,
    /** How often it looks for late changes that another process noted. */
    scanEveryMs: 3_600_000,
    /** Looked through by one statement. */
    scanSpanMs: 24 * 3_600_000,
    /** Late changes that are taken up at a time; the others follow. */
    lateAtOnceMax: 1_000,
    /**
     * Changed times that one report reads from the rows: its statement names each. With more it reads everything from the
     * rows.
     */
    changedPerReportMax: 200,
    /** The recorder is so late that its backlog goes first. */
    recorderLateMs: 60_000,
    /** Rows are dropped when they expire: a time is not computed again in its last hour. */
    beforeExpiryMs: 3_600_000,
  },
} as const;

const { recordTtlMs, ttlSecondsMax, keptMs } = otpLimits.otp;
assert(recordTtlMs >= ttlSecondsMax * 1_000 && recordTtlMs >= keptMs, 'a code that still counts would be forgotten');
assert(
  otpLimits.otp.countedMs >= ttlSecondsMax * 1_000 + 30_000,
  'a message whose publish is answered late could count a second time',
);

const { spanMs, settleMs } = otpSummaryLimits.otpSummaries;
assert(
  settleMs >= ttlSecondsMax * 1_000 + 60_000,
  'a time could be summarized while the time of its codes is not over',
);
assert((30 * 60_000) % spanMs === 0, 'a report could begin within a summary');
