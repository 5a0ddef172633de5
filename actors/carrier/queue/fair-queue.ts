// One lane with weighted fair sharing between accounts: start-time fair queueing, with segments as cost, because a
// carrier's contract counts segments. Each account has a virtual time that a segment advances by 1 / weight; the lowest
// is next. So shares are in proportion to weights however long the messages are, and an account's next message waits at
// most for what the others may send meanwhile. Inside an account first come, first served. A message that leaves
// without its turn is removed at once: otherwise it would take up capacity behind a head that cannot be sent. Items and
// accounts are bounded.
import { MinHeap } from '../../../platform/min-heap.ts';
import type { Entry, Share, Turned } from '../in-flight/queue-place.ts';

export class FairQueue<T extends Turned> {
  readonly #capacity: number;
  readonly #accountsMax: number;
  readonly #weightOf: (accountId: string) => number;
  readonly #shares = new Map<string, Share<T>>();
  /** The accounts with waiting messages, ordered by virtual time. */
  readonly #turns = new MinHeap<Share<T>>(isBefore);
  /**
   * Virtual times of accounts that wait for nothing but are ahead of the lane's: emptying a queue gives no advantage.
   */
  readonly #ahead = new Map<string, number>();
  /** The virtual time of the last served. */
  #lineAt = 0;
  #size = 0;
  #arrivals = 0;

  /** Beyond `accountsMax` accounts the rest share one turn: not fair among them, but bounded. */
  constructor(capacity: number, accountsMax: number, weightOf: (accountId: string) => number = () => 1) {
    this.#capacity = capacity;
    this.#accountsMax = accountsMax;
    this.#weightOf = weightOf;
  }

  get size(): number {
    return this.#size;
  }

  /** Accounts with waiting messages. */
  get accounts(): number {
    return this.#shares.size;
  }

  waitingOf(accountId: string): number {
    return this.#shares.get(accountId)?.size ?? 0;
  }

  /** False when it is full; waiting items keep their place. */
  push(item: T): boolean {
    if (item.place !== null) return true;
    if (this.#size === this.#capacity) return false;
    this.#size += 1;
    const share = this.#shareOf(item.message.accountId);
    const entry: Entry<T> = { item, share, before: share.last, next: null };
    item.place = entry;
    if (share.last === null) share.first = entry;
    else share.last.next = entry;
    share.last = entry;
    share.size += 1;
    return true;
  }

  /** The next item; the same until shift(), push() or remove(). */
  peek(): T | undefined {
    return this.#turns.first?.first?.item;
  }

  shift(): T | undefined {
    const share = this.#turns.first;
    const entry = share?.first;
    if (share === undefined || entry === null || entry === undefined) return undefined;
    this.#lineAt = share.at;
    this.#takeOut(entry);
    const weight = share.account === theRest ? 1 : Math.max(1, this.#weightOf(share.account));
    share.at += Math.max(1, entry.item.message.segments) / weight;
    if (share.first === null) this.#leave(share);
    else this.#turns.fixFirst();
    return entry.item;
  }

  /** It leaves without its turn, which costs its account nothing. An item that does not wait here changes nothing. */
  remove(item: T): void {
    const entry = item.place as Entry<T> | null;
    if (entry === null) return;
    const { share } = entry;
    this.#takeOut(entry);
    if (share.first === null) this.#leave(share);
  }

  #takeOut(entry: Entry<T>): void {
    const { item, share, before, next } = entry;
    item.place = null;
    if (before === null) share.first = next;
    else before.next = next;
    if (next === null) share.last = before;
    else next.before = before;
    // An entry in V8's old generation would keep all that came behind it in memory until that generation is collected.
    entry.before = entry.next = null;
    share.size -= 1;
    this.#size -= 1;
  }

  #leave(share: Share<T>): void {
    this.#turns.remove(share);
    this.#shares.delete(share.account);
    if (this.#size === 0) {
      this.#ahead.clear();
      this.#lineAt = 0;
      return;
    }
    // It left without its turn, and its account is not ahead.
    if (share.at <= this.#lineAt) return;
    this.#ahead.set(share.account, share.at);
    if (this.#ahead.size <= this.#accountsMax) return;
    for (const [account, at] of this.#ahead) if (at <= this.#lineAt) this.#ahead.delete(account);
    for (const account of this.#ahead.keys()) if (this.#ahead.size > this.#accountsMax) this.#ahead.delete(account);
  }

  #shareOf(accountId: string): Share<T> {
    const known = this.#shares.get(accountId);
    if (known !== undefined) return known;
    const account = this.#shares.size < this.#accountsMax ? accountId : theRest;
    const rest = this.#shares.get(account);
    if (rest !== undefined) return rest;
    const at = Math.max(this.#lineAt, this.#ahead.get(account) ?? 0);
    this.#ahead.delete(account);
    this.#arrivals += 1;
    const share: Share<T> = { account, at, arrival: this.#arrivals, first: null, last: null, size: 0 };
    this.#shares.set(account, share);
    this.#turns.add(share);
    return share;
  }
}

function isBefore(one: Share<unknown>, other: Share<unknown>): boolean {
  return one.at < other.at || (one.at === other.at && one.arrival < other.arrival);
}

const theRest = '';
