// Decides whether a bind should have a session: the bind keeper runs only while no operator has drained the bind and
// this node holds its lease.
import type { BindKeeper } from '../../../smpp/bind-keeper.ts';

export class BindGate<T> {
  readonly #keeper: BindKeeper<T>;
  #leased: boolean;
  #drained = false;
  /** Whether submits may use it; false until its share of the contract counts. */
  mayCarry: boolean;

  /** `leased`: held from the start, because there is no other node. */
  constructor(keeper: BindKeeper<T>, leased: boolean) {
    this.#keeper = keeper;
    this.#leased = leased;
    this.mayCarry = leased;
  }

  get leased(): boolean {
    return this.#leased;
  }

  /** An operator drains it: waits for outstanding answers, then unbinds. */
  rest(why: string, drainMs: number): Promise<void> {
    this.#drained = true;
    return this.#keeper.rest(why, drainMs);
  }

  /** The operator's command has ended. */
  wake(): void {
    this.#drained = false;
    if (this.#leased) this.#keeper.wake();
  }

  /** An operator has changed something: reconnect at once. */
  retry(): void {
    if (this.#leased) this.#keeper.retry();
  }

  /** This node has got the lease. */
  lease(): void {
    this.#leased = true;
    if (!this.#drained) this.#keeper.wake();
  }

  /** Another node is to get the lease: an orderly unbind, because it is still ours. */
  async giveUp(why: string, drainMs: number): Promise<void> {
    this.mayCarry = false;
    await this.#keeper.rest(why, drainMs);
    this.#leased = false;
  }

  /** The lease is lost: nothing more may be written, not even an unbind. */
  cut(why: string): void {
    this.#leased = false;
    this.mayCarry = false;
    this.#keeper.cut(why);
  }
}
