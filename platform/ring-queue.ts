// A first-in first-out queue with a fixed capacity. push() on a full queue returns false; the queue never grows and
// never drops an item.
import { assert } from './assert.ts';

export class RingQueue<T> {
  readonly capacity: number;
  #slots: (T | undefined)[];
  #head = 0;
  #size = 0;

  constructor(capacity: number) {
    assert(Number.isInteger(capacity) && capacity > 0, 'a queue without a bound is not allowed');
    this.capacity = capacity;
    this.#slots = new Array<T | undefined>(capacity);
  }

  get size(): number {
    return this.#size;
  }

  /** False when the queue is full: the caller must refuse the item. */
  push(item: T): boolean {
    if (this.#size === this.capacity) return false;
    this.#slots[(this.#head + this.#size) % this.capacity] = item;
    this.#size += 1;
    return true;
  }

  peek(): T | undefined {
    return this.#size === 0 ? undefined : this.#slots[this.#head];
  }

  shift(): T | undefined {
    if (this.#size === 0) return undefined;
    const item = this.#slots[this.#head];
    this.#slots[this.#head] = undefined;
    this.#head = (this.#head + 1) % this.capacity;
    this.#size -= 1;
    return item;
  }
}
