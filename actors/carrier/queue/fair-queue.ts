// One lane, shared fairly: accounts take turns by weight, and what a turn costs is counted in segments, because that is
// what a carrier's contract counts. Start-time fair queueing: each account has a place on one line of work done, a
// segment moves it on by 1 / weight, and who is furthest behind is next. So shares are in proportion to weights
// however long the messages are, and however much one account has waiting, another's next message waits for at most
// what the others may send in the meantime. Inside an account first come, first served. What leaves without its turn is
// out at once: behind a head that can go nowhere it would otherwise take up room for ever. It is bounded twice, and
// never decides between lanes.
import { MinHeap } from '../../../platform/min-heap.ts';
import type { Entry, Share, Turned } from '../in-flight/queue-place.ts';

export class FairQueue<T extends Turned> {
  readonly #capacity: number;
  readonly #accountsMax: number;
  readonly #weightOf: (accountId: string) => number;
  readonly #shares = new Map<string, Share<T>>();
  /** The accounts that have something waiting; the one furthest behind has the turn. */
  readonly #turns = new MinHeap<Share<T>>(isBefore);
  /** How far those have come who wait for nothing now but are ahead of the line: emptying a queue is no way to the front. */
  readonly #ahead = new Map<string, number>();
  /** The place of what was served last. */
  #lineAt = 0;
  #size = 0;
  #arrivals = 0;

  /** Beyond `accountsMax` accounts the rest share one turn: fair to nobody in it, but bounded. */
  constructor(capacity: number, accountsMax: number, weightOf: (accountId: string) => number = () => 1) {
    this.#capacity = capacity;
    this.#accountsMax = accountsMax;
    this.#weightOf = weightOf;
  }

  get size(): number {
    return this.#size;
  }

  /** Accounts that have something waiting. */
  get accounts(): number {
    return this.#shares.size;
  }

  waitingOf(accountId: string): number {
    return this.#shares.get(accountId)?.size ?? 0;
  }

  /** False when it is full. What waits already keeps its place. */
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

  /** Whose turn it is; the same answer until shift(), push() or remove(). */
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

  /** It leaves without its turn, and so costs its account none. One that does not wait here changes nothing. */
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
    share.size -= 1;
    this.#size -= 1;
  }

  #leave(share: Share<T>): void {
    this.#turns.remove(share);
    this.#shares.delete(share.account);
    if (this.#size === 0) {
      // Nobody waits: nobody is ahead of anybody.
      this.#ahead.clear();
      this.#lineAt = 0;
      return;
    }
    // It left without its turn, and is ahead of nobody.
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
