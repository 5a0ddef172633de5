// The messages a carrier holds and has not begun to send, in three lanes. The next one is chosen when a token
// is granted, not before: an OTP that came last still goes first. The lanes are bounded by the consumers'
// prefetch; a lane that is full means the bound was broken, and the record is left to be delivered again.
import { type Category, categories } from '../../model/message.ts';
import { RingQueue } from '../../platform/ring-queue.ts';

export class Lanes<T extends { readonly category: Category }> {
  readonly #queues: Readonly<Record<Category, RingQueue<T>>>;

  constructor(capacityPerLane: number) {
    this.#queues = {
      otp: new RingQueue<T>(capacityPerLane),
      transactional: new RingQueue<T>(capacityPerLane),
      promotional: new RingQueue<T>(capacityPerLane),
    };
  }

  /** False when the lane is full. */
  put(item: T): boolean {
    return this.#queues[item.category].push(item);
  }

  /** OTP before transactional before promotional; inside a lane first come, first served. */
  next(): T | undefined {
    for (const category of categories) {
      const item = this.#queues[category].shift();
      if (item !== undefined) return item;
    }
    return undefined;
  }

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

  get empty(): boolean {
    return categories.every((category) => this.#queues[category].size === 0);
  }
}
