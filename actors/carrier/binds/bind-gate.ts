// Whether a bind's session is wanted: an operator may have drained it, and it may be another node's. Only when neither
// speaks against it is the keeper awake. It knows no lease and no order, only what they come to.
import type { BindKeeper } from '../../../smpp/bind-keeper.ts';

export class BindGate<T> {
  readonly #keeper: BindKeeper<T>;
  #leased: boolean;
  #drained = false;
  /** Whether submits may go over it; not yet when its share of the contract does not count yet. */
  mayCarry: boolean;

  /** `leased`: it is ours from the beginning, because there is nobody else. */
  constructor(keeper: BindKeeper<T>, leased: boolean) {
    this.#keeper = keeper;
    this.#leased = leased;
    this.mayCarry = leased;
  }

  get leased(): boolean {
    return this.#leased;
  }

  /** An operator's order: lets what is out be answered, then unbinds. */
  rest(why: string, drainMs: number): Promise<void> {
    this.#drained = true;
    return this.#keeper.rest(why, drainMs);
  }

  /** The order stands no more. */
  wake(): void {
    this.#drained = false;
    if (this.#leased) this.#keeper.wake();
  }

  /** An operator has changed something: try at once. */
  retry(): void {
    if (this.#leased) this.#keeper.retry();
  }

  /** It is ours. */
  lease(): void {
    this.#leased = true;
    if (!this.#drained) this.#keeper.wake();
  }

  /** It is to be another node's: in good order, because it still is ours. */
  async giveUp(why: string, drainMs: number): Promise<void> {
    this.mayCarry = false;
    await this.#keeper.rest(why, drainMs);
    this.#leased = false;
  }

  /** We may not write any more, not even an unbind. */
  cut(why: string): void {
    this.#leased = false;
    this.mayCarry = false;
    this.#keeper.cut(why);
  }
}
