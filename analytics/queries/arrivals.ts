// Waits for the first event of an unknown message: a client may query a message a few milliseconds after its 202,
// before the event arrives here. The number of waiters is bounded; further ones are answered at once.
import { type Cancel, type Clock, systemClock } from '../../platform/clock.ts';
import { limits } from '../../platform/limits.ts';

type Waiter = { readonly resolve: (arrived: boolean) => void; readonly cancel: Cancel };

export class Arrivals {
  readonly #clock: Clock;
  readonly #waiters = new Map<string, Set<Waiter>>();
  #count = 0;

  constructor(clock: Clock = systemClock) {
    this.#clock = clock;
  }

  get waiting(): number {
    return this.#count;
  }

  /** An event of this message arrived. Called for every event: cheap without waiters. */
  arrived(messageId: string): void {
    if (this.#count === 0) return;
    for (const waiter of this.#waiters.get(messageId) ?? []) this.#end(messageId, waiter, true);
  }

  /** True when an event arrived within `limitMs`; false when none did, or when too many wait already. */
  wait(messageId: string, limitMs: number): Promise<boolean> {
    if (this.#count >= limits.queries.waitersMax) return Promise.resolve(false);
    return new Promise((resolve) => {
      const cancel = this.#clock.after(limitMs, () => this.#end(messageId, waiter, false));
      const waiter: Waiter = { resolve, cancel };
      const others = this.#waiters.get(messageId);
      if (others === undefined) this.#waiters.set(messageId, new Set([waiter]));
      else others.add(waiter);
      this.#count += 1;
    });
  }

  /** Ends all waits. */
  close(): void {
    for (const [messageId, waiters] of this.#waiters) for (const waiter of waiters) this.#end(messageId, waiter, false);
  }

  #end(messageId: string, waiter: Waiter, arrived: boolean): void {
    const waiters = this.#waiters.get(messageId);
    if (waiters?.delete(waiter) !== true) return;
    if (waiters.size === 0) this.#waiters.delete(messageId);
    this.#count -= 1;
    waiter.cancel();
    waiter.resolve(arrived);
  }
}
