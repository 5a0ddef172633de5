// A clock that a test moves by hand: timers fire in order of their time while it is moved. Wall time and monotonic time
// can be moved separately, which simulates a clock step.
import type { Cancel, Clock } from '../../platform/clock.ts';

type Timer = { atMs: number; readonly run: () => void; readonly everyMs: number };

export class ManualClock implements Clock {
  #monotonicMs = 0;
  #offsetMs: number;
  readonly #timers = new Set<Timer>();

  constructor(nowMs = 1_750_000_000_000) {
    this.#offsetMs = nowMs;
  }

  nowMs(): number {
    return this.#monotonicMs + this.#offsetMs;
  }

  monotonicMs(): number {
    return this.#monotonicMs;
  }

  get timers(): number {
    return this.#timers.size;
  }

  after(delayMs: number, run: () => void): Cancel {
    return this.#add(delayMs, run, 0);
  }

  every(intervalMs: number, run: () => void): Cancel {
    return this.#add(intervalMs, run, intervalMs);
  }

  sleep(delayMs: number): Promise<void> {
    return new Promise((resolve) => this.after(delayMs, resolve));
  }

  /** Advances both clocks, firing what becomes due. */
  advance(byMs: number): void {
    const endMs = this.#monotonicMs + byMs;
    for (;;) {
      let next: Timer | undefined;
      for (const timer of this.#timers) if (timer.atMs <= endMs && timer.atMs < (next?.atMs ?? Infinity)) next = timer;
      if (next === undefined) break;
      this.#monotonicMs = Math.max(this.#monotonicMs, next.atMs);
      if (next.everyMs > 0) next.atMs += next.everyMs;
      else this.#timers.delete(next);
      next.run();
    }
    this.#monotonicMs = endMs;
  }

  /** Advances both clocks in one step, as after a blocked event loop: repeated timers fire once. */
  stall(byMs: number): void {
    this.#monotonicMs += byMs;
    for (const timer of [...this.#timers]) {
      if (timer.atMs > this.#monotonicMs) continue;
      if (timer.everyMs > 0) timer.atMs = this.#monotonicMs + timer.everyMs;
      else this.#timers.delete(timer);
      timer.run();
    }
  }

  /** A step of the wall clock alone. */
  step(byMs: number): void {
    this.#offsetMs += byMs;
  }

  #add(delayMs: number, run: () => void, everyMs: number): Cancel {
    const timer = { atMs: this.#monotonicMs + delayMs, run, everyMs };
    this.#timers.add(timer);
    return () => void this.#timers.delete(timer);
  }
}
