// A lane from which anything may leave at any time: in any sequence of pushes, turns and removals, it counts, refuses
// and orders like a plain model, and what leaves without its turn changes no other account's share.
import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import type { Turned } from '../../../../actors/carrier/in-flight/queue-place.ts';
import { FairQueue } from '../../../../actors/carrier/queue/fair-queue.ts';

type Item = Turned & { readonly number: number };
const item = (number: number, accountId: string, segments = 1): Item => ({
  number,
  message: { accountId, segments },
  place: null,
});

const accounts = ['one', 'two', 'three', 'four', 'five', 'six'];
const weights: Readonly<Record<string, number>> = { one: 1, two: 2, three: 5, four: 1, five: 100, six: 3 };
const weightOf = (accountId: string) => weights[accountId] ?? 1;

/** The same rules without a heap or links: every query scans everything. */
class Model {
  waiting: { readonly item: Item; readonly turn: string }[] = [];
  readonly #at = new Map<string, number>();
  readonly #since = new Map<string, number>();
  /** Virtual times of accounts without waiting items, as they left: at most as many as accounts. */
  #left: string[] = [];
  #lineAt = 0;
  #arrivals = 0;
  readonly #capacity: number;
  readonly #accountsMax: number;

  constructor(capacity: number, accountsMax: number) {
    this.#capacity = capacity;
    this.#accountsMax = accountsMax;
  }

  get turns(): readonly string[] {
    return [...new Set(this.waiting.map(({ turn }) => turn))];
  }

  push(one: Item): boolean {
    if (this.waiting.some((each) => each.item === one)) return true;
    if (this.waiting.length === this.#capacity) return false;
    const { accountId } = one.message;
    const { turns } = this;
    const turn = turns.includes(accountId) || turns.length < this.#accountsMax ? accountId : '';
    if (!turns.includes(turn)) {
      this.#at.set(turn, Math.max(this.#lineAt, this.#at.get(turn) ?? 0));
      this.#arrivals += 1;
      this.#since.set(turn, this.#arrivals);
      this.#left = this.#left.filter((each) => each !== turn);
    }
    this.waiting.push({ item: one, turn });
    return true;
  }

  peek(): Item | undefined {
    const at = (turn: string) => [this.#at.get(turn)!, this.#since.get(turn)!] as const;
    const [first] = this.turns.toSorted((a, b) => at(a)[0] - at(b)[0] || at(a)[1] - at(b)[1]);
    return this.waiting.find(({ turn }) => turn === first)?.item;
  }

  shift(): Item | undefined {
    const one = this.peek();
    if (one === undefined) return undefined;
    const { turn } = this.waiting.find((each) => each.item === one)!;
    this.#lineAt = this.#at.get(turn)!;
    this.#at.set(turn, this.#lineAt + one.message.segments / (turn === '' ? 1 : weightOf(turn)));
    this.remove(one);
    return one;
  }

  remove(one: Item): void {
    const turn = this.waiting.find((each) => each.item === one)?.turn;
    this.waiting = this.waiting.filter((each) => each.item !== one);
    if (this.waiting.length === 0) {
      this.#at.clear();
      this.#left = [];
      this.#lineAt = 0;
    } else if (turn !== undefined && !this.turns.includes(turn)) this.#leave(turn);
  }

  #leave(turn: string): void {
    const isAhead = (each: string) => this.#at.get(each)! > this.#lineAt;
    if (isAhead(turn)) this.#left.push(turn);
    if (this.#left.length <= this.#accountsMax) return;
    this.#left = this.#left.filter(isAhead).slice(-this.#accountsMax);
    for (const each of this.#at.keys()) {
      if (!this.#left.includes(each) && !this.turns.includes(each)) this.#at.delete(each);
    }
  }

  waitingOf(accountId: string): number {
    return this.waiting.filter(({ turn }) => turn === accountId).length;
  }
}

type Step =
  | { readonly do: 'push'; readonly account: string; readonly segments: number }
  | { readonly do: 'shift' }
  | { readonly do: 'remove' | 'again'; readonly which: number };

const step: fc.Arbitrary<Step> = fc.oneof(
  {
    weight: 5,
    arbitrary: fc.record({
      do: fc.constant('push' as const),
      account: fc.constantFrom(...accounts),
      segments: fc.integer({ min: 1, max: 10 }),
    }),
  },
  { weight: 2, arbitrary: fc.constant({ do: 'shift' } as const) },
  // Any item ever pushed: served, removed or refused ones, too.
  { weight: 3, arbitrary: fc.record({ do: fc.constant('remove' as const), which: fc.nat() }) },
  { weight: 1, arbitrary: fc.record({ do: fc.constant('again' as const), which: fc.nat() }) },
);

describe('a queue from which anything may leave', () => {
  test('counts, order, turns and bounds are those of a plain model', () => {
    fc.assert(
      fc.property(
        fc.array(step, { maxLength: 150, size: 'max' }),
        fc.integer({ min: 1, max: 40 }),
        // Two: most share one turn. Eight: each has its own.
        fc.constantFrom(2, 8),
        (steps, capacity, accountsMax) => {
          const queue = new FairQueue<Item>(capacity, accountsMax, weightOf);
          const model = new Model(capacity, accountsMax);
          const all: Item[] = [];
          const same = () => {
            expect(queue.size).toBe(model.waiting.length);
            expect(queue.accounts).toBe(model.turns.length);
            for (const account of accounts) expect(queue.waitingOf(account)).toBe(model.waitingOf(account));
            expect(queue.peek()?.number).toBe(model.peek()?.number);
            const waits = new Set(model.waiting.map(({ item: { number } }) => number));
            expect(all.every(({ number, place }) => (place !== null) === waits.has(number))).toBe(true);
          };
          for (const each of steps) {
            if (each.do === 'push') {
              const one = item(all.length, each.account, each.segments);
              all.push(one);
              expect(queue.push(one)).toBe(model.push(one));
            } else if (each.do === 'shift') {
              expect(queue.shift()?.number).toBe(model.shift()?.number);
            } else if (all.length > 0) {
              const one = all[each.which % all.length]!;
              if (each.do === 'again') expect(queue.push(one)).toBe(model.push(one));
              else {
                queue.remove(one);
                model.remove(one);
              }
            }
            same();
          }
          while (queue.size > 0) {
            expect(queue.shift()?.number).toBe(model.shift()?.number);
            same();
          }
          expect(queue.shift()).toBeUndefined();
        },
      ),
    );
  });

  test('many leave and one stays at the head: there is capacity for as many again, and again', () => {
    const queue = new FairQueue<Item>(10, 4);
    const head = item(0, 'one');
    queue.push(head);
    for (let number = 1; number < 1_000; number += 1) {
      const one = item(number, accounts[number % accounts.length]!);
      expect(queue.push(one)).toBe(true);
      queue.remove(one);
      expect([queue.size, queue.accounts, queue.peek()]).toEqual([1, 1, head]);
    }
  });

  test('leaving costs no turn: a returning account is where it was', () => {
    const queue = new FairQueue<Item>(100, 4);
    for (let number = 0; number < 4; number += 1) queue.push(item(number, 'one'));
    const moved = Array.from({ length: 20 }, (_, number) => item(100 + number, 'two'));
    for (const each of moved) queue.push(each);
    for (const each of moved) queue.remove(each);
    queue.push(item(200, 'two'));
    const order = Array.from({ length: 5 }, () => queue.shift()!.number);
    expect(order).toEqual([0, 200, 1, 2, 3]);
  });
});

test('what left the lane keeps nothing that came before or behind it in memory', () => {
  const queue = new FairQueue<Item>(10, 10, weightOf);
  const items = [1, 2, 3].map((number) => item(number, 'one'));
  for (const each of items) queue.push(each);
  const [first, second] = items.map(({ place }) => place as { before: unknown; next: unknown });
  queue.remove(items[1] as Item);
  expect(queue.shift()).toBe(items[0]);
  for (const left of [first, second]) expect([left?.before, left?.next]).toEqual([null, null]);
  expect(queue.shift()).toBe(items[2]);
});
