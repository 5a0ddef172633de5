// A clock that only moves when a test says so. Timers fire in the order of their times, then of their setting.
import type { Cancel, Clock } from '../../platform/clock.ts';

type Timer = { dueMs: number; run: () => void; everyMs: number };

export class ManualClock implements Clock {
  #nowMs = 1_000;
  readonly #timers = new Set<Timer>();

  nowMs(): number {
    return 1_700_000_000_000 + this.#nowMs;
  }

  monotonicMs(): number {
    return this.#nowMs;
  }

  get timers(): number {
    return this.#timers.size;
  }

  after(delayMs: number, run: () => void): Cancel {
    return this.#add({ dueMs: this.#nowMs + delayMs, run, everyMs: 0 });
  }

  every(intervalMs: number, run: () => void): Cancel {
    return this.#add({ dueMs: this.#nowMs + intervalMs, run, everyMs: intervalMs });
  }

  sleep(delayMs: number): Promise<void> {
    return new Promise((resolve) => this.after(delayMs, resolve));
  }

  /** Moves on, firing what falls due on the way. */
  advance(byMs: number): void {
    const endMs = this.#nowMs + byMs;
    for (;;) {
      const next = [...this.#timers].sort((a, b) => a.dueMs - b.dueMs).find((timer) => timer.dueMs <= endMs);
      if (!next) break;
      this.#nowMs = Math.max(this.#nowMs, next.dueMs);
      if (next.everyMs > 0) next.dueMs += next.everyMs;
      else this.#timers.delete(next);
      next.run();
    }
    this.#nowMs = endMs;
  }

  /** Moves on in one step, as a blocked event loop sees it: repeated timers fire once. */
  stall(byMs: number): void {
    this.#nowMs += byMs;
    for (const timer of [...this.#timers]) {
      if (timer.dueMs > this.#nowMs) continue;
      if (timer.everyMs > 0) timer.dueMs = this.#nowMs + timer.everyMs;
      else this.#timers.delete(timer);
      timer.run();
    }
  }

  #add(timer: Timer): Cancel {
    this.#timers.add(timer);
    return () => this.#timers.delete(timer);
  }
}
