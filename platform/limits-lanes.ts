// Bounds of accounts that flood a lane: what may wait for them, when their excess is moved to overflow, how much waits
// there, how it is published. Read as `limits.overflow`.
import { assert } from './assert.ts';

/**
 * Messages of one account that may wait for one carrier in each lane; more are refused (429 account_queue_full). At
 * ~500 B each that is a fifth of the OTP stream's bound and a quarter of the others'.
 */
export const accountQueueMaxDefault = { otp: 100_000, txn: 1_000_000, promo: 2_000_000 } as const;
export type AccountQueueMax = Readonly<Record<keyof typeof accountQueueMaxDefault, number>>;

/** Greatest weight of an account beside others that wait in its lane. */
export const accountWeightMax = 100;

export const overflowLimits = {
  /**
   * Overflow shards of each lane and carrier, opened only while records wait in them. Two flooding accounts share one
   * with a probability of 1/32.
   */
  shards: 32,
  /** Records one carrier holds of one overflow shard: × 32 shards × 3 lanes × ~2 KiB = 100 MB at worst. */
  heldMax: 512,
  /** Messages of a lane that may wait before the excess is moved to overflow: two windows, within these bounds. */
  reservedMin: 64,
  reservedMax: 1_024,
  /** The same for one account, however many others wait. */
  reservedOfOneMin: 8,
  /** Records being published to overflow shards; they use no slot of the records that are sent. */
  inFlightMax: 256,
  /** Moves a second in the txn and promo lanes, each as expensive as a message: a tenth of a core at most. */
  lowPriorityPerS: 500,
  /**
   * At once, as many as may be in flight: an OTP of the same thread waits for those that are made together, and one beside
   * a flood of OTP for those that were not made before it (bench: tenants, lanes).
   */
  lowPriorityBurst: 256,
  /**
   * Records of one account shard that the txn and promo lanes ask for at once: at a round trip of 10 ms still 6,400 a
   * second of one account.
   */
  lowPriorityPrefetchMax: 64,
  /** A move fails well before the end of the stream's duplicate window. */
  publishMs: 8_000,
  /** A consumer unserved for this long: ack_wait and a move before it still end within the duplicate window. */
  unservedMs: 8_000,
  /** A move that failed this long ago may have been stored before the duplicate window. */
  forgottenMs: 10_000,
  /** How long its key is remembered after that: a lost ack causes a redelivery after ack_wait. */
  rememberedMs: 60_000,
  rememberedMax: 100_000,
  /** How often open overflow shards are counted. */
  countEveryMs: 250,
  /** How often all shards are checked for what another node or an earlier incarnation left there. */
  lookEveryMs: 10_000,
  lookTimeoutMs: 2_000,
  /** The consumer of a shard that was empty for this long is stopped. */
  lingerMs: 10_000,
  /** Accounts of one lane and carrier in a report to the entry points: × ~45 B × 3 lanes stay far below a record. */
  accountsMax: 512,
  publishEveryMs: 1_000,
  /** How long an entry point uses a report of flooding accounts: as long as an empty overflow shard is still served. */
  staleMs: 10_000,
  /** How long it uses the report that an account's queue is full: two lost heartbeats change nothing. */
  fullStaleMs: 3_500,
  bytesMax: 256 * 1024,
  /** An account refused for a full queue is accepted again below this share of it. */
  refusedUntilShare: 0.9,
} as const;

assert(
  overflowLimits.staleMs <= overflowLimits.lingerMs,
  'an entry point could publish to a shard that is no longer served',
);
assert(overflowLimits.publishEveryMs * 3 < overflowLimits.staleMs, 'two lost heartbeats would end what they report');
