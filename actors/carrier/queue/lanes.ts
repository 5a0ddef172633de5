// A carrier's messages that it has not begun to send, in three lanes. The next one is chosen when a token is granted:
// an OTP that came last still goes first, and inside a lane accounts take turns by weight. The consumers' prefetch
// bounds the lanes; a full lane means that this bound was broken, and the record is left to be redelivered.
import { type Category, byCategory, categories } from '../../../model/message.ts';
import { limits } from '../../../platform/limits.ts';
import type { Turned } from '../in-flight/queue-place.ts';
import { FairQueue } from './fair-queue.ts';

export class Lanes<T extends Turned & { readonly category: Category }> {
  readonly #queues: Readonly<Record<Category, FairQueue<T>>>;

  /** `weightOf`: an account's weight in a lane. */
  constructor(
    capacityPerLane: number,
    accountsMax: number = limits.carrier.laneAccountsMax,
    weightOf: (accountId: string) => number = () => 1,
  ) {
    this.#queues = byCategory(() => new FairQueue<T>(capacityPerLane, accountsMax, weightOf));
  }

  /** False when the lane is full. */
  put(item: T): boolean {
    return this.#queues[item.category].push(item);
  }

  /** It leaves its lane without its turn. An item that is in none changes nothing. */
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

  /** What next() will return, unless an item enters a higher lane before. */
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

  /** How many messages of one account wait in one lane. */
  waitingOf(category: Category, accountId: string): number {
    return this.#queues[category].waitingOf(accountId);
  }

  /** How many accounts have waiting messages in it. */
  accounts(category: Category): number {
    return this.#queues[category].accounts;
  }
}

/**
 * Window slots, of `windowPdus` in all, that promotional messages leave free, so that others need not wait for an
 * answer of a slow carrier. A tenth, at least two, but never so many that a narrow window admits none.
 */
export function slotsReservedFor(category: Category, windowPdus: number): number {
  if (category !== 'promotional') return 0;
  return Math.min(Math.max(2, Math.ceil(windowPdus / 10)), Math.floor(windowPdus / 2));
}

/**
 * Segments of a second that a message leaves free: messages that came late into the second before, and so into this
 * one, find capacity at once. Promotional messages leave a fiftieth; a message of an account with a backlog a
 * hundredth, which even sending does not use anyway.
 */
export function tokensReservedFor(category: Category, ratePerS: number, waitingOfAccount: number): number {
  if (category === 'promotional') return Math.floor(ratePerS / 50);
  return waitingOfAccount < limits.overflow.reservedOfOneMin ? 0 : Math.floor(ratePerS / 100);
}

/**
 * How much one account may have waiting in a lane before its excess is moved to overflow: two windows if it is alone,
 * its part of them beside others. So the records of small accounts always fit into the prefetch of their shard.
 */
export function reservedInLane(windowPdus: number, accounts: number): number {
  const { reservedMin, reservedMax, reservedOfOneMin } = limits.overflow;
  const kept = Math.min(reservedMax, Math.max(reservedMin, windowPdus * 2));
  return Math.max(reservedOfOneMin, Math.floor(kept / Math.max(1, accounts)));
}
