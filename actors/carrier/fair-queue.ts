// One lane, shared fairly: accounts take turns, and what a turn costs is counted in segments, because that is what a
// carrier's contract counts. However much one account has waiting, another's next message waits for at most one turn
// of each. Inside an account first come, first served. It is bounded twice, and never decides between lanes.
import { RingQueue } from '../../platform/ring-queue.ts';

export type Turned = { readonly message: { readonly accountId: string; readonly segments: number } };

export class FairQueue<T extends Turned> {
  readonly #capacity: number;
  readonly #accountsMax: number;
  readonly #shares = new Map<string, Share<T>>();
  /** The accounts that have something waiting; the first of them has the turn. */
  readonly #turns: RingQueue<Share<T>>;
  #size = 0;

  /** Beyond `accountsMax` accounts the rest share one turn: fair to nobody in it, but bounded. */
  constructor(capacity: number, accountsMax: number) {
    this.#capacity = capacity;
    this.#accountsMax = accountsMax;
    this.#turns = new RingQueue(accountsMax + 1);
  }

  get size(): number {
    return this.#size;
  }

  /** False when it is full. */
  push(item: T): boolean {
    if (this.#size === this.#capacity) return false;
    this.#size += 1;
    const entry: Entry<T> = { item, next: null };
    const share = this.#shareOf(item.message.accountId);
    if (share.last === null) share.first = entry;
    else share.last.next = entry;
    share.last = entry;
    return true;
  }

  /** Whose turn it is; the same answer until shift(). */
  peek(): T | undefined {
    // Each pass gives a segment of credit, so that this ends after at most ten passes over those who wait.
    for (let share = this.#turns.peek(); share !== undefined; share = this.#turns.peek()) {
      if (share.credit > 0) return share.first?.item;
      share.credit += creditPerTurn;
      if (share.credit > 0) return share.first?.item;
      this.#turns.shift();
      this.#turns.push(share);
    }
    return undefined;
  }

  shift(): T | undefined {
    const item = this.peek();
    const share = this.#turns.peek();
    if (item === undefined || share === undefined || share.first === null) return undefined;
    this.#size -= 1;
    share.first = share.first.next;
    share.credit -= Math.max(1, item.message.segments);
    if (share.first === null) {
      // What it owes is forgotten with it: an account that waits for nothing has no past.
      this.#turns.shift();
      this.#shares.delete(share.account);
    } else if (share.credit <= 0) {
      this.#turns.shift();
      this.#turns.push(share);
    }
    return item;
  }

  #shareOf(accountId: string): Share<T> {
    const known = this.#shares.get(accountId);
    if (known !== undefined) return known;
    const account = this.#shares.size < this.#accountsMax ? accountId : theRest;
    const rest = this.#shares.get(account);
    if (rest !== undefined) return rest;
    const share: Share<T> = { account, credit: 0, first: null, last: null };
    this.#shares.set(account, share);
    this.#turns.push(share);
    return share;
  }
}

type Entry<T> = { readonly item: T; next: Entry<T> | null };
/** One account's part of the lane. A long message may take its credit below zero; then others have their turns first. */
type Share<T> = { readonly account: string; credit: number; first: Entry<T> | null; last: Entry<T> | null };

/** Segments. One, so that at ten per second nobody's turn lasts a second. */
const creditPerTurn = 1;
const theRest = '';
