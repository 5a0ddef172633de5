// The figures of the guard's rules, each with its arithmetic. They are constants and not settings: docs/otp-guard.md has
// what they catch and what they cost, measured by `npm run bench -- otp-fraud`.
import { assert } from '../../platform/assert.ts';
import { limits } from '../../platform/limits.ts';
import { otpLimitsDefault } from '../otp/contract.ts';

export const thresholds = {
  /** A code that is not entered after this counts as a miss: nearly all people who enter one do so within a minute. */
  maturityMs: 120_000,
  /** A code that is judged sooner, because no more have room, counts as the part of a miss that it has waited of this. */
  enteredWithinMs: 60_000,

  /** Of 10 who asked for a code so many enter it, until the account's own figure is known. */
  usualConversion: 0.7,
  /**
   * An account's own figure is taken between these: below, half of its users would look like fraud, and an attack could lower
   * it further. At 0.5 a miss adds 0.64: eighteen in a row block.
   */
  usualConversionMin: 0.5,
  usualConversionMax: 0.9,
  /** The account's own figure follows its last 500 codes, and begins as if there had been 50. */
  conversionMemory: 500,
  conversionPrior: 50,

  /** The conversion of an attack whose codes nobody enters. */
  fraudConversion: 0.05,
  /** Of one whose owner enters some; half of the usual conversion where that is lower. */
  partialConversion: 0.35,
  /** The second test judges when the account's own conversion is known: it lies too near to ordinary ones. */
  partialFromCodes: 500,
  /**
   * A statistic that reaches this blocks. At a conversion of 0.7 a miss adds 1.15: ten in a row. A false alarm comes about
   * every e^11.5 = 10^5 codes; a block of 10^6 numbers has a hundred times as many.
   */
  alarm: { 4: 11.5, 6: 14 },
  /**
   * A miss counts in a block of 10^6 numbers only while its block of 10^4 is below this share of its threshold: what those
   * catch alone must not concern their neighbours. Each brings three misses, so that at least five are needed.
   */
  suspiciousShare: 0.25,
  /** What the statistic begins with after a block: three misses block again. */
  afterBlock: 0.75,

  /** Numbers of a block that may wait for their code to be entered, beyond those proven by verifications. */
  velocity: { 4: 20, 6: 100 },
  /** The same as a multiple of what is usual in the block. */
  velocityTimesUsual: 5,
  /** A suspicious block's share of the fixed number: what waits there when it is blocked was sent for nothing. */
  velocitySuspicious: 0.5,
  /**
   * Messages to a number that waits already are refused at so many times the cap: they are bounded, and people may try
   * again.
   */
  velocityAgain: 2,
  /** What is usual follows the verifications of about this time: what nobody enters never raises a cap. */
  usualMs: 3_600_000,

  /** Neighbours: numbers of a block of 10^4 at most so far apart. */
  neighbourGap: 5,
  /** At 50 numbers 1.2 pairs are expected; as many times as expected, and at least so many. */
  sequenceTimes: 5,
  sequencePairsMin: 10,

  /** Numbers without verification from one address or device, an hour: behind one carrier-grade NAT are hundreds. */
  clientNumbers: 200,
  clientMs: 3_600_000,

  blockMs: 10 * 60_000,
  blockMsMax: 12 * 3_600_000,
  /** How long after its end a block still makes the next one longer. */
  blockRememberedMs: 24 * 3_600_000,
  /** The share of requests to a blocked prefix that is sent. */
  probeShare: 0.01,
  /** … and no more than one in this time: 1 % of a flood would be a flood. */
  probeEveryMs: 60_000,
  /** A block of 10^6 spares those of 10^4 in which a code was entered in this time, unless they are suspicious. */
  sparedMs: 3 * 3_600_000,

  /** An outage: receipts and verifications both fell below half of their usual share … */
  fallen: 0.5,
  /** … in more than so much of the carrier's prefixes, of at least three … */
  outageShare: 0.6,
  outagePrefixesMin: 3,
  /**
   * … when of the carrier's codes less than half as many arrive as usual, and no more than twice as many are sent. It ends
   * below half of that share, or when nearly as many arrive as usual.
   */
  outageVolumeTimes: 2,
  resumeShare: 0.3,
  resumeArrivedShare: 0.75,
  /** While it lasts people ask again: its misses count from four times the usual volume on. */
  outageAgainTimes: 4,
  /** A prefix counts with so many codes ever, and one in the last five minutes. */
  outageCodesMin: 10,
  outageRecentMs: 300_000,

  /** An outage of one block of numbers: of its codes in a row, with so many at least … */
  undelivered: {
    /** … a conversion of 0.9 alarms at the sixth miss … */
    codesMin: 5,
    /** … at most this share arrived, as to numbers that were ported to another operator … */
    arrivedShare: 1 / 8,
    /** … and receipts came before. The next outage of the block is recognised after so many as well. */
    receiptsMin: 10,
    /** Afterwards misses count again. */
    outageMsMax: 30 * 60_000,
    /**
     * So many codes in a row of a block of 10^4 are excused, then misses count again. With three more, and what waits until
     * it is blocked, they are some 60. In an outage of its carrier so many an hour, or four times what is usual. Of a block
     * of 10^6 as many as usual in an hour.
     */
    excusedCodes: 40,
  },
} as const;

assert(
  thresholds.usualConversionMin > thresholds.partialConversion &&
    thresholds.partialConversion > thresholds.fraudConversion,
  'an ordinary conversion would be one of fraud',
);
const { count, perMs } = otpLimitsDefault.sends.account;
assert(
  limits.otpGuard.pendingShare >= count * (1 + thresholds.maturityMs / perMs),
  'codes of an account at its limit would be judged before their two minutes are over',
);
assert(thresholds.resumeShare < thresholds.outageShare, 'an outage would end as it begins');
