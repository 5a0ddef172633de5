// The last record of EVENTS that the recorder has taken: everything up to it is in ClickHouse or held. Queries wait
// until it reaches the end of the stream at their arrival.
import type { Cancel, Clock } from '../../platform/clock.ts';

type Waiter = { readonly seq: number; readonly resolve: (reached: boolean) => void; readonly cancel: Cancel };

export class TakenPosition {
  readonly #clock: Clock;
  readonly #waiters = new Set<Waiter>();
  #seq: number;
  #isClosed = false;

  constructor(seq: number, clock: Clock) {
    this.#seq = seq;
    this.#clock = clock;
  }

  get seq(): number {
    return this.#seq;
  }

  /** False after the recorder dropped what it held: the position is meaningless then. */
  get isValid(): boolean {
    return !this.#isClosed;
  }

  /** Called for every record: cheap without waiters. */
  advance(seq: number): void {
    this.#seq = seq;
    if (this.#waiters.size === 0) return;
    for (const waiter of this.#waiters) if (waiter.seq <= seq) this.#end(waiter, true);
  }

  /** True as soon as everything up to `seq` is taken; false after `limitMs`. */
  reached(seq: number, limitMs: number): Promise<boolean> {
    if (this.#isClosed) return Promise.resolve(false);
    if (this.#seq >= seq) return Promise.resolve(true);
    return new Promise((resolve) => {
      const cancel = this.#clock.after(limitMs, () => this.#end(waiter, false));
      const waiter: Waiter = { seq, resolve, cancel };
      this.#waiters.add(waiter);
    });
  }

  close(): void {
    this.#isClosed = true;
    for (const waiter of this.#waiters) this.#end(waiter, false);
  }

  #end(waiter: Waiter, reached: boolean): void {
    this.#waiters.delete(waiter);
    waiter.cancel();
    waiter.resolve(reached);
  }
}
