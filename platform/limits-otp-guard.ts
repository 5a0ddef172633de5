// Bounds of the guard against fraud with one-time passwords: what one ingress thread remembers. At a total the account
// that has most gives up some of it, so that no account can make the guard forget another's numbers.
import { assert } from './assert.ts';

export const otpGuardLimits = {
  /** Accounts that sent a code lately: 2,000 × ~2 KB. */
  accountsMax: 2_000,
  /**
   * Codes sent in the last two minutes: 130,000 × ~250 B = 33 MB, 1,080 codes a second. Beyond it, and beyond the share,
   * they are judged sooner.
   */
  pendingMax: 130_000,
  /**
   * An account at its limit of 500 a second, after a burst of as many, has 60,500 (asserted in
   * policy/otp-guard/thresholds.ts).
   */
  pendingShare: 65_000,
  /** Blocks of 10^4 and 10^6 numbers with a history: 40,000 × ~800 B = 32 MB. */
  historiesMax: 40_000,
  /** Of 10^4 numbers; those of 10^6 beside them are a hundredth to as many. */
  historiesShare: 15_000,
  /** Numbers by address and device: ~100 B each. */
  clientNumbersShare: 20_000,
  /**
   * Blocked prefixes of an account, with those that are remembered: of the bucket, of its list and of each thread's memory.
   * As many again of rules in shadow mode. Those that rules make leave room for those that people order.
   */
  blocksShare: 3_000,
  ruleBlocksShare: 2_500,
  /**
   * With so many by rules in effect the next one is of the 10^6 numbers around it. 1,000 are left for those: Bangladesh,
   * with seven prefixes of 10^8 numbers, has 700.
   */
  wideBlocksFrom: 1_500,
  /** Blocks of a prefix before the one that is there, which the list still has, with the begin of their notes: × ~200 B. */
  earlierMax: 3,
  earlierNoteCharsMax: 50,
  /** Of those that have ended so many are forgotten at once when there is no room. */
  forgottenAtOnce: 100,
  /** A block that could not be stored is tried again after this. */
  storeAgainMs: 5_000,
  /** Entries of its destinations, and of its safe list. */
  listMax: 1_000,
  blockMinutesMax: 30 * 24 * 60,
  noteCharsMax: 200,
  carriersMax: 64,
  /** Blocks of 10^6 numbers of one carrier. */
  carrierPrefixesMax: 2_000,
  /** Accounts whose decisions an outage is listed among: 500 × 32 B = 16 KB in its entry, and a fact for each. */
  outageAccountsMax: 500,
  /**
   * The next outage of a carrier is listed no sooner: at most 500 × 12 decisions an hour. Its threads find one within
   * seconds.
   */
  outageEveryMs: 10 * 60_000,
  /** After this an outage whose end nobody stored is over. */
  outageMsMax: 86_400_000,
  /**
   * Outages of blocks of numbers that are listed of an account, in the time that they are kept in the bucket: so that
   * another thread does not list the same one, and its end is. × ~300 B.
   */
  unreachableShare: 100,
  unreachableKeptMs: 3_600_000,
  /** Messages that were counted within limits.otp.countedMs: two generations × ~100 B = 20 MB, 150 a second. */
  countedMax: 100_000,
  /** What threads send each other: so many observations of at most ~300 B together, at the latest after this time. */
  together: 100,
  gatherMs: 50,
  bytesMax: 64 * 1024,
  /** How often what follows from the time alone is looked for. */
  advanceEveryMs: 1_000,
  /** Attempts to change an entry of the bucket against concurrent writers. */
  mergeTriesMax: 8,
  /**
   * 50,000 blocks × ~300 B, most of them the first of their prefix, and an outage of each of 64 carriers × at most 16 KB. An
   * account that orders all of its share with the longest notes, again and again, has 3,000 × ~2.2 KB = 6.6 MB of it.
   */
  bucketBytes: 32 * 2 ** 20,
  sweepEveryMs: 15 * 60_000,
  sweptMax: 50_000,
} as const;

assert(
  otpGuardLimits.wideBlocksFrom < otpGuardLimits.ruleBlocksShare &&
    otpGuardLimits.ruleBlocksShare < otpGuardLimits.blocksShare,
  'rules could leave no room for wide blocks, or for what a person orders',
);

assert(
  otpGuardLimits.pendingShare < otpGuardLimits.pendingMax &&
    otpGuardLimits.historiesShare < otpGuardLimits.historiesMax,
  'one account could fill the memory of the guard',
);
