// The messages a carrier holds and has not begun to send, in three lanes. The next one is chosen when a token
// is granted, not before: an OTP that came last still goes first, and inside a lane accounts take turns by weight. The lanes
// are bounded by the consumers' prefetch; a lane that is full means the bound was broken, and the record is left to
// be delivered again.
import { type Category, categories } from '../../../model/message.ts';
import { limits } from '../../../platform/limits.ts';
import type { Turned } from '../in-flight/queue-place.ts';
import { FairQueue } from './fair-queue.ts';

export class Lanes<T extends Turned & { readonly category: Category }> {
  readonly #queues: Readonly<Record<Category, FairQueue<T>>>;

  /** `weightOf`: an account's share of a lane, beside the others that wait in it. */
  constructor(
    capacityPerLane: number,
    accountsMax: number = limits.carrier.laneAccountsMax,
    weightOf: (accountId: string) => number = () => 1,
  ) {
    this.#queues = {
      otp: new FairQueue<T>(capacityPerLane, accountsMax, weightOf),
      transactional: new FairQueue<T>(capacityPerLane, accountsMax, weightOf),
      promotional: new FairQueue<T>(capacityPerLane, accountsMax, weightOf),
    };
  }

  /** False when the lane is full. */
  put(item: T): boolean {
    return this.#queues[item.category].push(item);
  }

  /** It leaves its lane without having had its turn. One that is in none changes nothing. */
  remove(item: T): void {
    this.#queues[item.category].remove(item);
  }

  /** OTP before transactional before promotional. */
  next(): T | undefined {
    for (const category of categories) {
      const item = this.#queues[category].shift();
      if (item !== undefined) return item;
    }
    return undefined;
  }

  /** What next() will give, unless something of a higher lane comes before. */
  peek(): T | undefined {
    for (const category of categories) {
      const item = this.#queues[category].peek();
      if (item !== undefined) return item;
    }
    return undefined;
  }

  size(category: Category): number {
    return this.#queues[category].size;
  }

  /** What one account has waiting in one lane. */
  waitingOf(category: Category, accountId: string): number {
    return this.#queues[category].waitingOf(accountId);
  }

  /** How many accounts have something waiting in it. */
  accounts(category: Category): number {
    return this.#queues[category].accounts;
  }

  get empty(): boolean {
    return categories.every((category) => this.#queues[category].size === 0);
  }
}

/**
 * Window slots promotional messages may not take, of `windowPdus` in all: what else comes finds room at once, and not
 * after an answer of a slow carrier. A tenth, at least two, but never so many that a narrow window would let none go.
 */
export function slotsReservedFor(category: Category, windowPdus: number): number {
  if (category !== 'promotional') return 0;
  return Math.min(Math.max(2, Math.ceil(windowPdus / 10)), Math.floor(windowPdus / 2));
}

/**
 * Of the segments of a second, as many a message leaves to others: whatever came late into the second before, and so
 * comes late into this one, they find room at once. Promotional messages leave a fiftieth; what has a backlog of its own
 * account behind it a hundredth, which even sending does not use anyway.
 */
export function tokensReservedFor(category: Category, ratePerS: number, waitingOfAccount: number): number {
  if (category === 'promotional') return Math.floor(ratePerS / 50);
  return waitingOfAccount < limits.overflow.reservedOfOneMin ? 0 : Math.floor(ratePerS / 100);
}

/**
 * What one account may have waiting in a lane before what else it brings is moved to overflow: two windows if it is alone, its
 * part of them beside others. So the records of those who bring little always find room in the prefetch of their shard.
 */
export function reservedInLane(windowPdus: number, accounts: number): number {
  const { reservedMin, reservedMax, reservedOfOneMin } = limits.overflow;
  const kept = Math.min(reservedMax, Math.max(reservedMin, windowPdus * 2));
  return Math.max(reservedOfOneMin, Math.floor(kept / Math.max(1, accounts)));
}
