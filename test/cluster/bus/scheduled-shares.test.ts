// How much an account may have scheduled, counted on a real nats-server by several counters at once, like the threads
// of several nodes: never above its share, and despite lost answers.
import fc from 'fast-check';
import { afterAll, afterEach, beforeAll, describe, expect, test } from 'vitest';
import { Publisher } from '../../../cluster/bus/publisher.ts';
import { decide, ScheduledShares, type ScheduledTaken, unitsOf } from '../../../cluster/bus/scheduled-shares.ts';
import { type Clock, systemClock } from '../../../platform/clock.ts';
import { limits } from '../../../platform/limits.ts';
import { type TestBus, startBus } from '../../support/bus.ts';

let test_: TestBus;
const publishers: Publisher[] = [];
beforeAll(async () => {
  test_ = await startBus();
});
afterEach(() => {
  for (const each of publishers.splice(0)) each.close();
});
afterAll(() => test_.stop());

const hourMs = 3_600_000;
const inHours = (hours: number) => systemClock.nowMs() + hours * hourMs;

/** The time of a count ends after a minute: for tests of what is counted, on a machine that stalls as well. */
const slowness = 60;
const slowClock: Clock = {
  ...systemClock,
  monotonicMs: () => systemClock.monotonicMs() / slowness,
  after: (delayMs, run) => systemClock.after(delayMs * slowness, run),
};

function counter(perAccount: number, clock: Clock = slowClock): ScheduledShares {
  const publisher = new Publisher(test_.bus, { ...limits.http.idempotencyWrites, clock });
  publishers.push(publisher);
  return new ScheduledShares(test_.bus, publisher, { total: 1_000_000, perAccount, reserve: 0 }, clock);
}
const take = (shares: ScheduledShares, account: string, hours = 1, units = 1) =>
  new Promise<ScheduledTaken>((resolve) => shares.take(account, inHours(hours), units, resolve));
const taken = (results: readonly ScheduledTaken[]) => results.filter((each) => each === 'taken').length;

test('an account gets its share and no more, another one all of its own', async () => {
  const shares = counter(10);
  const results = await Promise.all(Array.from({ length: 25 }, (_, index) => take(shares, 'one', index % 5)));
  expect(taken(results)).toBe(10);
  expect(results.filter((each) => each === 'account_full')).toHaveLength(15);
  expect(taken(await Promise.all(Array.from({ length: 10 }, () => take(shares, 'two'))))).toBe(10);
  expect(await take(shares, 'two', 48)).toBe('account_full');
});

test('counters that race never grant more than the share, and one that restarts knows what was granted', async () => {
  const asks = Array.from({ length: 6 }, () => counter(100, systemClock)).flatMap((shares) =>
    Array.from({ length: 40 }, (_, index) => take(shares, 'raced', index % 30)),
  );
  const results = await Promise.all(asks);
  const given = taken(results);
  expect(given).toBeLessThanOrEqual(100);
  // A counter that lost every race in its time reports it; the rest goes to the next request.
  const recreated = counter(100, systemClock);
  const rest = await Promise.all(Array.from({ length: 120 }, () => take(recreated, 'raced')));
  // One whose answer came too late may be counted or not.
  const unsure = [...results, ...rest].filter((each) => each === 'unavailable').length;
  expect(given + taken(rest)).toBeLessThanOrEqual(100);
  expect(given + taken(rest)).toBeGreaterThanOrEqual(100 - unsure);
});

test('what was returned may be taken again, by others too', async () => {
  const one = counter(2);
  const other = counter(2);
  expect([await take(one, 'back'), await take(one, 'back'), await take(one, 'back')]).toEqual([
    'taken',
    'taken',
    'account_full',
  ]);
  one.giveBack('back', inHours(1), 1);
  expect(await take(one, 'back')).toBe('taken');
  expect(await take(other, 'back')).toBe('account_full');
});

test('messages count until the hour in which they are due is over', async () => {
  let aheadMs = 0;
  const clock: Clock = { ...slowClock, nowMs: () => systemClock.nowMs() + aheadMs };
  const shares = counter(3, clock);
  expect([await take(shares, 'hours', 1), await take(shares, 'hours', 1), await take(shares, 'hours', 3)]).toEqual([
    'taken',
    'taken',
    'taken',
  ]);
  expect(await take(shares, 'hours', 4)).toBe('account_full');
  aheadMs = 2 * hourMs;
  expect([await take(shares, 'hours', 4), await take(shares, 'hours', 4), await take(shares, 'hours', 4)]).toEqual([
    'taken',
    'taken',
    'account_full',
  ]);
});

test('a long message takes a unit for each KiB', () => {
  expect(unitsOf(Buffer.alloc(400))).toBe(1);
  expect(unitsOf(Buffer.alloc(limits.scheduled.unitBytes))).toBe(2);
  expect(unitsOf(Buffer.alloc(3_000))).toBe(4);
});

describe('for any requests', () => {
  test('the hours sum up to what was there, less what is over and was returned, and never above the share', () => {
    const units = fc.record({ hour: fc.integer({ min: 90, max: 110 }), units: fc.integer({ min: 1, max: 4 }) });
    const hours = fc.dictionary(fc.integer({ min: 90, max: 110 }).map(String), fc.integer({ min: 1, max: 20 }));
    fc.assert(
      fc.property(
        hours,
        fc.array(units, { maxLength: 40 }),
        fc.array(units, { maxLength: 10 }),
        fc.nat(120),
        (before, asked, returned, share) => {
          const map = new Map(Object.entries(before).map(([hour, count]) => [Number(hour), count]));
          const decided = decide(map, asked, returned, 100, share);
          const sum = (of: Iterable<number>) => [...of].reduce((total, each) => total + each, 0);
          const base = decide(map, [], returned, 100, share).hours;
          const given = sum(decided.taken.map((each) => each.units));
          expect(sum(decided.hours.values())).toBe(sum(base.values()) + given);
          if (given > 0) expect(sum(decided.hours.values())).toBeLessThanOrEqual(share);
          expect(decided.taken.length + decided.refused.length).toBe(asked.length);
          for (const each of decided.refused) {
            expect(sum(decided.hours.values()) + each.units).toBeGreaterThan(share);
          }
          expect([...base.keys()].every((hour) => hour >= 100)).toBe(true);
        },
      ),
    );
  });
});
