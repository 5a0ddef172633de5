// Says that an endpoint has something to send as soon as it has: at once, or when the batch that it collects is due.
import type { Cancel } from '../../../platform/clock.ts';
import type { WorkerOwner } from './worker-owner.ts';

export class DueTimer {
  readonly #owner: WorkerOwner;
  /** Until something may be sent; null: there is nothing. */
  readonly #dueInMs: () => number | null;
  #cancel: Cancel | null = null;

  constructor(owner: WorkerOwner, dueInMs: () => number | null) {
    this.#owner = owner;
    this.#dueInMs = dueInMs;
  }

  /** After each change of what is to be sent. */
  set(): void {
    const dueInMs = this.#dueInMs();
    if (dueInMs === 0) return this.#owner.ready();
    if (dueInMs === null || this.#cancel !== null) return;
    this.#cancel = this.#owner.clock.after(dueInMs, () => {
      this.#cancel = null;
      this.set();
    });
  }

  stop(): void {
    this.#cancel?.();
  }
}
