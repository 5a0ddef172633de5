// The lanes: which message goes next, and that no account can make another wait for more than a turn.
import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import { Lanes, slotsKeptFor } from '../../../actors/carrier/lanes.ts';
import { type Category, categories } from '../../../model/message.ts';

type Item = { category: Category; number: number; message: { accountId: string; segments: number } };
const item = (category: Category, number: number, accountId = 'one', segments = 1): Item => ({
  category,
  number,
  message: { accountId, segments },
});
const anyItem = fc.tuple(
  fc.constantFrom(...categories),
  fc.constantFrom('one', 'two', 'three', 'four'),
  fc.integer({ min: 1, max: 10 }),
);

/** Everything that comes out, peeked at twice before each. */
function drain(lanes: Lanes<Item>): Item[] {
  const out: Item[] = [];
  while (!lanes.empty) {
    expect(lanes.peek()).toBe(lanes.peek());
    const peeked = lanes.peek();
    expect(lanes.next()).toBe(peeked);
    if (peeked !== undefined) out.push(peeked);
  }
  expect(lanes.next()).toBeUndefined();
  expect(lanes.peek()).toBeUndefined();
  return out;
}

describe('between lanes', () => {
  test('an OTP that came last goes first, then transactional, then promotional; nothing is lost or doubled', () => {
    fc.assert(
      fc.property(fc.array(anyItem, { maxLength: 80 }), (order) => {
        const lanes = new Lanes<Item>(80);
        const items = order.map(([category, account, segments], number) => item(category, number, account, segments));
        for (const each of items) expect(lanes.put(each)).toBe(true);
        const out = drain(lanes);
        expect(out.map((each) => each.number).toSorted((a, b) => a - b)).toEqual(items.map((each) => each.number));
        const ranks = out.map((each) => categories.indexOf(each.category));
        expect(ranks).toEqual(ranks.toSorted((a, b) => a - b));
      }),
    );
  });
  test('a full lane says so, and only that lane', () => {
    const lanes = new Lanes<Item>(2);
    expect([1, 2, 3].map((number) => lanes.put(item('promotional', number)))).toEqual([true, true, false]);
    expect(lanes.put(item('otp', 4))).toBe(true);
    expect(lanes.size('promotional')).toBe(2);
    lanes.next();
    lanes.next();
    expect(lanes.put(item('promotional', 5))).toBe(true);
  });
});

describe('inside a lane', () => {
  test('one account is served first come, first served', () => {
    fc.assert(
      fc.property(fc.array(anyItem, { maxLength: 80 }), (order) => {
        const lanes = new Lanes<Item>(80);
        order.forEach(([, account, segments], number) => lanes.put(item('otp', number, account, segments)));
        const out = drain(lanes);
        for (const account of ['one', 'two', 'three', 'four']) {
          const numbers = out.filter((each) => each.message.accountId === account).map((each) => each.number);
          expect(numbers).toEqual(numbers.toSorted((a, b) => a - b));
        }
      }),
    );
  });
  test('a thousand messages of one account do not stand before the first of another', () => {
    const lanes = new Lanes<Item>(2_000);
    for (let number = 0; number < 1_000; number += 1) lanes.put(item('otp', number, 'flood'));
    for (let number = 0; number < 3; number += 1) lanes.put(item('otp', number, 'other'));
    const out = drain(lanes).slice(0, 6);
    expect(out.map((each) => each.message.accountId)).toEqual(['flood', 'other', 'flood', 'other', 'flood', 'other']);
  });
  test('accounts that always wait get the same number of segments, whatever the length of their messages', () => {
    fc.assert(
      fc.property(
        fc.array(fc.integer({ min: 1, max: 10 }), { minLength: 2, maxLength: 6 }),
        fc.integer({ min: 20, max: 200 }),
        (lengths, takes) => {
          const lanes = new Lanes<Item>(10_000);
          const served = lengths.map(() => 0);
          lengths.forEach((segments, account) => {
            for (let number = 0; number < takes; number += 1) {
              lanes.put(item('promotional', account, String(account), segments));
            }
          });
          for (let take = 0; take < takes; take += 1) {
            const next = lanes.next()!;
            served[next.number]! += next.message.segments;
          }
          // Nobody is further ahead of another than one message of each and a turn.
          const spread = Math.max(...served) - Math.min(...served);
          expect(spread).toBeLessThanOrEqual(Math.max(...lengths) + 1);
        },
      ),
    );
  });
  test('accounts beyond the bound share one turn, and each is still served', () => {
    const lanes = new Lanes<Item>(100, 2);
    for (const account of ['one', 'two', 'three', 'four']) {
      for (let number = 0; number < 3; number += 1) lanes.put(item('otp', number, account));
    }
    const accounts = drain(lanes).map((each) => each.message.accountId);
    expect(accounts.slice(0, 3)).toEqual(['one', 'two', 'three']);
    expect(accounts).toHaveLength(12);
    expect(accounts.filter((account) => account === 'four')).toHaveLength(3);
  });
  test('it can be emptied and filled again', () => {
    const lanes = new Lanes<Item>(4, 1);
    for (let round = 0; round < 5; round += 1) {
      expect(lanes.put(item('otp', 1, 'a'))).toBe(true);
      expect(lanes.put(item('otp', 2, `b${round}`))).toBe(true);
      expect(drain(lanes)).toHaveLength(2);
    }
  });
});

describe('window slots kept from promotional messages', () => {
  test('a tenth, at least two; half of a window that is narrow, and none of a window of one', () => {
    expect([1, 2, 3, 4, 10, 20, 21, 100, 1_000].map((window) => slotsKeptFor('promotional', window))).toEqual([
      0, 1, 1, 2, 2, 2, 3, 10, 100,
    ]);
  });
  test('are open to everything else', () => {
    for (const category of ['otp', 'transactional'] as const) expect(slotsKeptFor(category, 100)).toBe(0);
  });
});
