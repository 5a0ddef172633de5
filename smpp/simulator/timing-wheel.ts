// A timing wheel: thousands of items due in some milliseconds with one timer. Each millisecond has a slot, and the
// timer runs only while items wait. Items due in the same millisecond keep their order.
import type { Cancel, Clock } from '../../platform/clock.ts';

type Waiting<T> = { dueMs: number; item: T };

export class TimingWheel<T> {
  readonly #clock: Clock;
  readonly #onDue: (item: T) => void;
  readonly #slots: Waiting<T>[][] = Array.from({ length: slotCount }, () => []);
  #turnedToMs = 0;
  #size = 0;
  #cancel: Cancel | undefined;

  constructor(clock: Clock, onDue: (item: T) => void) {
    this.#clock = clock;
    this.#onDue = onDue;
  }

  get size(): number {
    return this.#size;
  }

  add(delayMs: number, item: T): void {
    const nowMs = Math.floor(this.#clock.monotonicMs());
    if (!this.#cancel) {
      this.#turnedToMs = nowMs;
      this.#cancel = this.#clock.every(tickMs, () => this.#turn());
    }
    // Never into a slot already processed: the item would wait a whole revolution.
    const dueMs = Math.max(nowMs + Math.ceil(delayMs), this.#turnedToMs + 1);
    this.#slots[dueMs & slotMask]!.push({ dueMs, item });
    this.#size += 1;
  }

  /** Removes all items. */
  clear(): void {
    this.#cancel?.();
    this.#cancel = undefined;
    for (const slot of this.#slots) slot.length = 0;
    this.#size = 0;
  }

  #turn(): void {
    const nowMs = Math.floor(this.#clock.monotonicMs());
    const fromMs = Math.max(this.#turnedToMs + 1, nowMs - slotCount + 1);
    for (let atMs = fromMs; atMs <= nowMs && this.#size > 0; atMs += 1) {
      const slot = this.#slots[atMs & slotMask]!;
      if (slot.length === 0) continue;
      this.#slots[atMs & slotMask] = [];
      // Items added meanwhile go into a later slot.
      this.#turnedToMs = atMs;
      for (const waiting of slot) {
        if (waiting.dueMs > nowMs) this.#slots[atMs & slotMask]!.push(waiting);
        else {
          this.#size -= 1;
          this.#onDue(waiting.item);
        }
      }
    }
    this.#turnedToMs = nowMs;
    if (this.#size > 0) return;
    this.#cancel?.();
    this.#cancel = undefined;
  }
}

const slotCount = 4_096;
const slotMask = slotCount - 1;
const tickMs = 1;
