// A map whose entries expire after at least one span and at most two. Two generations rotate, so expiry costs nothing
// per entry. A generation that reaches `perHalfMax` entries ends its span early.
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

  /** Adds or replaces an entry. */
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
