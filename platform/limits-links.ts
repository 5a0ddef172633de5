// Bounds of tracked links and of clicks. Read as `limits.links` and `limits.clicks`; how many links may live at once is
// a shared bound (limits-shares.ts: live_links).
import { assert } from './assert.ts';

export const linkLimits = {
  links: {
    /** Of one message: 10 segments hold about 50 short links; nobody reads more than a few. */
    perMessageMax: 10,
    /** Browsers and proxies take 2,048 characters of a URL everywhere. */
    urlCharsMax: 2_048,
    /** 24 bits of a code: sixteen times `live_links`, so that a random number is nearly always free. */
    seriesNumbers: 2 ** 24,
    /**
     * Codes of a link's first series, then four times as many for each further one: a link of one recipient spends
     * little of the space of codes, and a campaign of a million asks for a new series some twenty times.
     */
    seriesSizeFirst: 16,
    seriesSizeFactor: 4,
    /** 20 bits of a code hold 2^20; a series of 65,536 is used up in 13 s at 5,000/s. */
    seriesSizeMax: 2 ** 16,
    /** Links of which a thread remembers its unused codes: 20,000 × ~400 B = 8 MB. */
    runsHeldMax: 20_000,
    /** How long a message waits for the codes of its links: within the lease of an idempotency key. */
    issueMs: 2_000,
    /** A series is kept this much longer than its first message needs, so that the messages of a day share it. */
    seriesSlackMs: 86_400_000,
    /** Records of LINKS a reader has in advance: 500 × at most 3 KiB. */
    prefetchRecords: 500,
    /** Expired links are removed in slices: 5,000 a second take under a millisecond, and 1,000,000 in 200 s. */
    sweepEveryMs: 1_000,
    sweepMax: 5_000,
    /**
     * Wrong codes of one address, beyond which wrong ones are answered 429. A live code is always redirected: thousands of
     * subscribers share an address of their carrier. What keeps codes from being guessed is their number: of 10^8 live
     * ones, 10,000 guesses a second find one in ten days.
     */
    missesPerSecond: 2,
    missesBurst: 60,
    /** Addresses with wrong codes that are remembered: 50,000 × ~100 B = 5 MB. */
    missAddressesMax: 50_000,
  },
  clicks: {
    /** Clicks wait so long for others to share their record. */
    gatherMs: 5,
    /** 64 × at most 0.8 KiB. */
    recordMax: 64,
    retryMs: 200,
    /**
     * Clicks of one code that a thread keeps: a person taps a few times, and some twenty apps and scanners fetch it. More
     * are a program's: it needs no key to open a link in a loop.
     */
    codePerSecond: 5,
    codeBurst: 60,
    /** Codes whose rate is known: 100,000 × ~80 B = 8 MB; at 5,000 clicks/s all codes of the last ten seconds. */
    codesWatchedMax: 100_000,
    /** Clicks are kept while CLICKS is less full than this; the rest is for messages with links, 1.7 million of 300 B. */
    streamFullShare: 0.5,
    /** A User-Agent of a browser has 100 to 250 characters. */
    userAgentCharsMax: 256,
    /** Records that the recorder of clicks has in advance: 200 × at most 50 KiB = 10 MB. */
    prefetchRecords: 200,
    /** Rows of one insert, and how long they wait: a click is to be queryable within two seconds, and each insert makes some 40 files. */
    insertRowsMax: 10_000,
    insertEveryMs: 1_000,
    /** Keys in one look-up: × ~40 B stays below the 256 KiB a statement may have. */
    lookupMax: 4_000,
    /** A person needs longer than this from the receipt to the tap. */
    soonAfterReceiptMs: 1_000,
    /** Links of more than so many messages from one address within the window are a burst. */
    burstWindowMs: 10_000,
    burstMessagesMax: 5,
    /** Addresses that are watched for bursts: 50,000 × ~300 B = 15 MB. */
    burstAddressesMax: 50_000,
    /** Times of receipts that are remembered for a next click on the message: 50,000 × ~120 B = 6 MB. */
    deliveredHeldMs: 600_000,
    deliveredHeldMax: 50_000,
    /** How often it is asked whether a carrier sends receipts, of three weeks of counts; and for how many, by week: ~150 B each. */
    receiptsAskedEveryMs: 600_000,
    receiptSendersHeld: 5_000,
    /** Verdicts about User-Agents that are remembered. */
    userAgentsHeldMax: 10_000,
    /** CLICKS is purged of what is recorded at this interval, except for what was stored so shortly before what comes next. */
    purgeEveryMs: 60_000,
    /** The window of bursts, and as long for clicks that waited in an ingress. */
    recentKeptMs: 20_000,
    /** What is there of it, and of the interval of purges, is read after a start: 5,000 clicks/s for 80 s are 400,000. */
    recentReadMs: 30_000,
  },
} as const;

const { seriesSizeMax, seriesNumbers } = linkLimits.links;
assert(
  linkLimits.clicks.recentKeptMs >= linkLimits.clicks.burstWindowMs,
  'after a restart a burst would be judged without its first clicks',
);
assert(
  seriesSizeMax <= 2 ** 20 && seriesNumbers <= 2 ** 24,
  'a code holds 24 bits of a series and 20 of a place in it',
);
