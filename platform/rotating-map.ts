// A map that forgets: entries live at least one span and at most two. Two plain maps take turns, so forgetting
// costs nothing per entry. It is bounded by count as well: a full generation ends its span early.
import { type Clock, systemClock } from './clock.ts';

export class RotatingMap<K, V> {
  readonly #spanMs: number;
  readonly #perHalfMax: number;
  readonly #clock: Clock;
  #young = new Map<K, V>();
  #old = new Map<K, V>();
  #turnAtMs: number;

  constructor(spanMs: number, perHalfMax: number, clock: Clock = systemClock) {
    this.#spanMs = spanMs;
    this.#perHalfMax = perHalfMax;
    this.#clock = clock;
    this.#turnAtMs = clock.monotonicMs() + spanMs;
  }

  get size(): number {
    return this.#young.size + this.#old.size;
  }

  get(key: K): V | undefined {
    return this.#young.get(key) ?? this.#old.get(key);
  }

  /** Remembers; what was remembered under this key before is replaced. */
  set(key: K, value: V): void {
    this.#turn();
    this.#young.set(key, value);
  }

  delete(key: K): void {
    this.#young.delete(key);
    this.#old.delete(key);
  }

  *values(): IterableIterator<V> {
    yield* this.#young.values();
    yield* this.#old.values();
  }

  #turn(): void {
    if (this.#young.size < this.#perHalfMax && this.#clock.monotonicMs() < this.#turnAtMs) return;
    this.#old = this.#young;
    this.#young = new Map();
    this.#turnAtMs = this.#clock.monotonicMs() + this.#spanMs;
  }
}
