// A timer that can be woken: for loops that run at an interval, and at once when they are notified. A notification
// before the wait is not lost; several count as one.
import { type Clock } from '../platform/clock.ts';

export class WakeableTimer {
  readonly #clock: Clock;
  #notified = false;
  #wake: (() => void) | null = null;

  constructor(clock: Clock) {
    this.#clock = clock;
  }

  notify(): void {
    this.#notified = true;
    this.#wake?.();
  }

  /** Resolves after `limitMs`, or at once when it was notified since the last wait. One waiter at a time. */
  async wait(limitMs: number): Promise<void> {
    if (!this.#notified) {
      await new Promise<void>((resolve) => {
        const cancel = this.#clock.after(limitMs, resolve);
        this.#wake = () => {
          cancel();
          resolve();
        };
      });
      this.#wake = null;
    }
    this.#notified = false;
  }
}
