// The lanes: which message is next, and that no account can make another wait for more than a turn.
import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import type { Turned } from '../../../../actors/carrier/in-flight/queue-place.ts';
import { Lanes, reservedInLane, slotsReservedFor, tokensReservedFor } from '../../../../actors/carrier/queue/lanes.ts';
import { messageConsumer } from '../../../../cluster/bus/streams.ts';
import { type Category, categories } from '../../../../model/message.ts';
import { limits } from '../../../../platform/limits.ts';

type Item = Turned & { category: Category; number: number };
const item = (category: Category, number: number, accountId = 'one', segments = 1): Item => ({
  category,
  number,
  message: { accountId, segments },
  place: null,
});
const anyItem = fc.tuple(
  fc.constantFrom(...categories),
  fc.constantFrom('one', 'two', 'three', 'four'),
  fc.integer({ min: 1, max: 10 }),
);

/** Everything in order, peeked at twice before each. */
function drain(lanes: Lanes<Item>): Item[] {
  const out: Item[] = [];
  while (lanes.peek() !== undefined) {
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
  test('an OTP that came last is first, then transactional, then promotional; nothing is lost or doubled', () => {
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
  test('a full lane refuses, and only that lane', () => {
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
  test('a thousand messages of one account do not come before the first of another', () => {
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
          // No account is further ahead of another than one message of each and a turn.
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

describe('weights inside a lane', () => {
  type Wants = { weight: number; lengths: number[] };
  const account = fc.record({
    weight: fc.integer({ min: 1, max: 100 }),
    lengths: fc.array(fc.integer({ min: 1, max: 10 }), { minLength: 1, maxLength: 5 }),
  });
  const several = fc.array(account, { minLength: 2, maxLength: 6 });

  /** Takes until `takes` segments are served, while each account always has something waiting. */
  function serve(accounts: readonly Wants[], segments: number): { served: number[]; order: number[] } {
    const lanes = new Lanes<Item>(10_000, 1_024, (accountId) => accounts[Number(accountId)]!.weight);
    const next = accounts.map(() => 0);
    const put = (number: number) => {
      const { lengths } = accounts[number]!;
      lanes.put(item('promotional', number, String(number), lengths[next[number]!++ % lengths.length]));
    };
    accounts.forEach((_, number) => [0, 1].forEach(() => put(number)));
    const served = accounts.map(() => 0);
    const order: number[] = [];
    for (let total = 0; total < segments; ) {
      const { number, message } = lanes.next()!;
      put(number);
      served[number]! += message.segments;
      total += message.segments;
      order.push(number);
    }
    return { served, order };
  }

  test('shares are in proportion to them, to within one message of each', () => {
    fc.assert(
      fc.property(several, fc.integer({ min: 1, max: 3_000 }), (accounts, segments) => {
        const { served } = serve(accounts, segments);
        const turns = served.map((each, number) => each / accounts[number]!.weight);
        const longest = accounts.map(({ weight, lengths }) => Math.max(...lengths) / weight);
        turns.forEach((one, a) =>
          turns.forEach((other, b) => expect(one - other).toBeLessThanOrEqual(longest[a]! + longest[b]! + 1e-6)),
        );
      }),
    );
  });
  test('no account starves: between two messages of one the others send no more than their shares, and a message each', () => {
    fc.assert(
      fc.property(several, (accounts) => {
        const { order } = serve(accounts, 4_000);
        const longest = accounts.map(({ lengths }) => Math.max(...lengths));
        accounts.forEach(({ weight }, number) => {
          const others = accounts.reduce((sum, each, other) => sum + (other === number ? 0 : each.weight), 0);
          const most = (longest[number]! / weight) * others + longest.reduce((sum, each) => sum + each, 0);
          let since = 0;
          for (const each of order) {
            since = each === number ? 0 : since + 1;
            expect(since).toBeLessThanOrEqual(most + 1);
          }
        });
      }),
      { numRuns: 30 },
    );
  });
  test('an account of high weight does not send its share in one burst', () => {
    const { order } = serve(
      [1, 50, 50].map((weight) => ({ weight, lengths: [1] })),
      303,
    );
    expect(order.filter((number) => number === 0)).toHaveLength(3);
    const heavy = order.filter((number) => number > 0).map((number) => number === 1);
    // The two of high weight alternate.
    expect(heavy.slice(2, -2).every((one, at, all) => at === 0 || one !== all[at - 1])).toBe(true);
  });
  test('an account that empties its queue and returns has no more turns than one that always waits', () => {
    const lanes = new Lanes<Item>(1_000, 1_024, (accountId) => (accountId === 'heavy' ? 10 : 1));
    for (let number = 0; number < 500; number += 1) lanes.put(item('otp', 1, 'heavy'));
    let light = 0;
    lanes.put(item('otp', 0, 'light'));
    for (let take = 0; take < 330; take += 1) {
      if (lanes.next()!.number !== 0) continue;
      light += 1;
      lanes.put(item('otp', 0, 'light'));
    }
    expect(light).toBeGreaterThanOrEqual(29);
    expect(light).toBeLessThanOrEqual(31);
  });
  test('a weight that changes is in effect from the next message on', () => {
    let weight = 1;
    const lanes = new Lanes<Item>(1_000, 1_024, (accountId) => (accountId === 'one' ? weight : 1));
    for (let number = 0; number < 200; number += 1) {
      lanes.put(item('otp', 1, 'one'));
      lanes.put(item('otp', 2, 'two'));
    }
    const share = () => Array.from({ length: 40 }, () => lanes.next()!.number).filter((number) => number === 1).length;
    expect(share()).toBe(20);
    weight = 3;
    expect(Math.abs(share() - 30)).toBeLessThanOrEqual(1);
  });
});

describe('what one account may have waiting in a lane before the rest is moved to overflow', () => {
  const { reservedMin, reservedMax, reservedOfOneMin } = limits.overflow;
  test('is two windows, within bounds, shared by those that wait', () => {
    expect([1, 32, 33, 100, 512, 513, 5_000].map((window) => reservedInLane(window, 1))).toEqual([
      reservedMin,
      reservedMin,
      66,
      200,
      reservedMax,
      reservedMax,
      reservedMax,
    ]);
    expect([0, 1, 2, 3, 25, 26, 1_000].map((accounts) => reservedInLane(100, accounts))).toEqual([
      200,
      200,
      100,
      66,
      reservedOfOneMin,
      reservedOfOneMin,
      reservedOfOneMin,
    ]);
  });
  test('leaves capacity in the prefetch of its shard for those with less', () => {
    fc.assert(
      fc.property(fc.integer({ min: 1, max: 400 }), fc.integer({ min: 1, max: 20 }), (window, floods) => {
        const inFlight = messageConsumer('otp', 'alpha', 0, window).max_ack_pending!;
        // All windows full of this shard, and what all floods may keep waiting.
        expect(inFlight).toBeGreaterThan(window + floods * reservedInLane(window, floods));
      }),
    );
  });
  test('is counted by account and lane', () => {
    const lanes = new Lanes<Item>(100);
    for (let number = 0; number < 3; number += 1) lanes.put(item('otp', number, 'one'));
    lanes.put(item('otp', 0, 'two'));
    lanes.put(item('promotional', 0, 'one'));
    expect(lanes.waitingOf('otp', 'one')).toBe(3);
    expect(lanes.waitingOf('promotional', 'one')).toBe(1);
    expect(lanes.waitingOf('otp', 'three')).toBe(0);
    expect(lanes.accounts('otp')).toBe(2);
    lanes.next();
    lanes.next();
    expect(lanes.waitingOf('otp', 'one')).toBe(2);
    expect(lanes.accounts('otp')).toBe(1);
  });
});

describe('window slots reserved from promotional messages', () => {
  test('a tenth, at least two; half of a window that is narrow, and none of a window of one', () => {
    expect([1, 2, 3, 4, 10, 20, 21, 100, 1_000].map((window) => slotsReservedFor('promotional', window))).toEqual([
      0, 1, 1, 2, 2, 2, 3, 10, 100,
    ]);
  });
  test('are open to everything else', () => {
    for (const category of ['otp', 'transactional'] as const) expect(slotsReservedFor(category, 100)).toBe(0);
  });
  test('and of the segments of a second a fiftieth; a message of an account with a backlog leaves a hundredth', () => {
    const rates = [1, 49, 50, 99, 100, 990, 4_950];
    expect(rates.map((perS) => tokensReservedFor('promotional', perS, 1))).toEqual([0, 0, 1, 1, 2, 19, 99]);
    const { reservedOfOneMin } = limits.overflow;
    for (const category of ['otp', 'transactional'] as const) {
      expect(rates.map((perS) => tokensReservedFor(category, perS, reservedOfOneMin - 1))).toEqual(rates.map(() => 0));
      expect(rates.map((perS) => tokensReservedFor(category, perS, reservedOfOneMin))).toEqual([0, 0, 0, 0, 1, 9, 49]);
    }
  });
});
