// The part of limits.ts about accounts that flood a lane: when what they have too much of is moved to overflow, how
// much waits there, how it is published. A file of its own only for its length; it is read as `limits`.
import { assert } from './assert.ts';

/**
 * What one account may have waiting for one carrier in each lane; more is refused (429 account_queue_full). At ~500 B
 * each a fifth of what the stream of OTP may hold, a quarter of the others'.
 */
export const accountQueueMaxDefault = { otp: 100_000, txn: 1_000_000, promo: 2_000_000 } as const;
export type AccountQueueMax = Readonly<Record<keyof typeof accountQueueMaxDefault, number>>;

/** An account's share of a lane beside others that wait there. */
export const accountWeightMax = 100;

export const overflowLimits = {
  /**
   * Overflow shards of each lane and carrier, opened only while something waits in them. Two floods meet in one in 32
   * cases.
   */
  shards: 32,
  /** Records one carrier holds of one overflow shard: × 32 shards × 3 lanes × ~2 KiB = 100 MB at worst. */
  heldMax: 512,
  /** What all accounts of a lane may have waiting before the excess is moved to overflow: two windows, between these. */
  reservedMin: 64,
  reservedMax: 1_024,
  /** And one account however many others wait. */
  reservedOfOneMin: 8,
  /** Records on their way to an overflow shard: they take no room from what is sent. */
  inFlightMax: 256,
  /** Moves in the lanes of transactional and promotional messages, each worth a message: a tenth of a core at most. */
  lowPriorityPerS: 500,
  lowPriorityBurst: 1_000,
  /** A move is given up well before the stream forgets its id. */
  publishMs: 8_000,
  /** A consumer that nobody served for this long: with ack_wait and a move before it that is still within that memory. */
  unservedMs: 8_000,
  /** A move that was given up this long ago may have been made before the stream's memory begins. */
  forgottenMs: 10_000,
  /** How long its key is remembered after that: an ack that was lost brings the record back after ack_wait. */
  rememberedMs: 60_000,
  rememberedMax: 100_000,
  /** How often open overflow shards are counted, and how soon after a flood has begun. */
  countEveryMs: 250,
  countSoonMs: 20,
  /** How often all of them are looked at: what another node or an earlier incarnation has left there. */
  lookEveryMs: 10_000,
  lookTimeoutMs: 2_000,
  /** Empty for this long and its consumer rests. */
  lingerMs: 10_000,
  /**
   * Accounts of one lane and carrier that are published to the entry points: × ~45 B × 3 lanes stays far under a
   * record.
   */
  accountsMax: 512,
  publishEveryMs: 1_000,
  /** An entry point believes what it heard for this long: as long as an empty overflow shard is still served. */
  staleMs: 10_000,
  /** And that an account's queue is full: two lost heartbeats are no news. */
  fullStaleMs: 3_500,
  bytesMax: 256 * 1024,
  /** An account that was refused for a full queue is taken again below this share of it. */
  refusedUntilShare: 0.9,
} as const;

assert(
  overflowLimits.staleMs <= overflowLimits.lingerMs,
  'an entry point could send into a shard that nobody serves any more',
);
assert(overflowLimits.publishEveryMs * 3 < overflowLimits.staleMs, 'two lost heartbeats would end what they report');
