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
    /** How long one that has ended can be read. */
    keptMs: hourMs,
    /** A record of the bucket `otp` lives so long after its last write: as long as one that has just ended is kept. */
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
     * Names whose rates one ingress process counts: 2^18 × 16 B = 4 MiB, shared by its threads. A name rests when all of
     * its limit is regained: 500 sends a second of one account leave 500 × 3 min = 90,000 devices.
     */
    ratesMax: 2 ** 18,
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
    /** Submits that are watched at a time: 1,000 a second for the longest floor of ten seconds, twice. */
    watchedMax: 20_000,
    /** So many younger ones, of which half wait too, show an outage before the share of late ones does. */
    stalledMin: 10,
    /**
     * Tokens of an account and a pair of carriers: no burst is longer than fifty copies. Two generations of 10,000 pairs
     * × ~150 B = 3 MB in a thread for each carrier that is busy with so many accounts.
     */
    budget: { tokensMax: 50, pairsMax: 10_000, idleMs: 3_600_000 },
  },
} as const;

const { recordTtlMs, ttlSecondsMax, keptMs } = otpLimits.otp;
assert(recordTtlMs >= ttlSecondsMax * 1_000 && recordTtlMs >= keptMs, 'a code that still counts would be forgotten');
