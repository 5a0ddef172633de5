// The pure parts of the guard, each by itself: statistics, the sequence test, the length of blocks, clients, bounds.
import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { Blocks, blockDurationMs } from '../../../policy/otp-guard/blocks.ts';
import { Clients } from '../../../policy/otp-guard/clients.ts';
import { Conversion } from '../../../policy/otp-guard/conversion.ts';
import { nextStatistic } from '../../../policy/otp-guard/history.ts';
import { FadingCount } from '../../../policy/otp-guard/fading-count.ts';
import { expectedPairs, testSequence } from '../../../policy/otp-guard/sequence.ts';
import { thresholds } from '../../../policy/otp-guard/thresholds.ts';

const minuteMs = 60_000;
const hourMs = 60 * minuteMs;

describe('the cumulative sum', () => {
  it('adds 1.15 for a miss and takes 2.64 for a verification, at a conversion of 0.7', () => {
    expect(nextStatistic(0, false, 0.7, 0.05)).toBeCloseTo(1.153, 3);
    expect(nextStatistic(5, true, 0.7, 0.05)).toBeCloseTo(5 - 2.639, 3);
    expect(nextStatistic(0, false, 0.7, 0.35)).toBeCloseTo(0.773, 3);
  });

  it('is never below 0, rises with a miss and falls with a verification', () => {
    const share = fc.double({ min: 0.5, max: 0.9, noNaN: true });
    const fraud = fc.double({ min: 0.01, max: 0.35, noNaN: true });
    fc.assert(
      fc.property(share, fraud, fc.double({ min: 0, max: 100, noNaN: true }), (usual, low, before) => {
        expect(nextStatistic(before, false, usual, low)).toBeGreaterThan(before);
        const after = nextStatistic(before, true, usual, low);
        expect(after).toBeGreaterThanOrEqual(0);
        if (before > 0) expect(after).toBeLessThan(before);
      }),
    );
  });
});

describe('a fading count', () => {
  it('keeps 1/e after its span, and its rate is right from the start', () => {
    const count = new FadingCount(minuteMs);
    expect([count.value(0), count.rate(0)]).toEqual([0, 0]);
    for (let atMs = 0; atMs < 10 * minuteMs; atMs += 1_000) {
      count.add(atMs);
      if (atMs >= 10_000) expect(count.rate(atMs) * 1_000).toBeCloseTo(1, 0);
    }
    const value = count.value(10 * minuteMs);
    expect(count.value(11 * minuteMs) / value).toBeCloseTo(1 / Math.E, 6);
  });
});

describe('the sequence test', () => {
  it.each([
    [10, 9, false],
    [11, 10, true],
  ])('%i numbers that follow each other have %i pairs', (numbers, pairs, isSequential) => {
    const counted = testSequence(Array.from({ length: numbers }, (_, at) => 5_000 + at));
    expect(counted).toEqual({ pairs, threshold: 10, isSequential });
  });

  it.each([
    [5, true],
    [6, false],
  ])('a gap of %i is a neighbour: %s', (gap, isSequential) => {
    expect(testSequence(Array.from({ length: 20 }, (_, at) => at * gap)).isSequential).toBe(isSequential);
  });

  it('expects more of more numbers, so that a full block is no sequence', () => {
    expect(expectedPairs(50)).toBeCloseTo(1.23, 2);
    expect(testSequence(Array.from({ length: 1_000 }, (_, at) => at * 10 + (at % 3))).isSequential).toBe(false);
  });

  it('does not depend on the order', () => {
    const numbers = fc.uniqueArray(fc.integer({ min: 0, max: 9_999 }), { maxLength: 200 });
    fc.assert(
      fc.property(numbers, (all) => {
        expect(testSequence(all.toReversed())).toEqual(testSequence(all));
      }),
    );
  });
});

describe('the usual conversion', () => {
  const after = (codes: number, share: number) => {
    const conversion = new Conversion();
    for (let at = 0; at < codes; at += 1) conversion.add(at % 100 < share * 100);
    return conversion;
  };

  it('begins at 0.7, follows the codes and stays within its bounds', () => {
    expect(after(0, 0).usual).toBe(0.7);
    expect(after(3_000, 0.6).usual).toBeCloseTo(0.6, 1);
    expect(after(3_000, 0).usual).toBe(0.5);
    expect(after(3_000, 1).usual).toBe(0.9);
  });

  it('has a partial one from 500 codes on, at most half of the usual', () => {
    expect(after(499, 0.7).partial).toBeNull();
    expect(after(500, 0.7).partial).toBeCloseTo(0.35, 1);
    expect(after(3_000, 0.2).partial).toBe(0.25);
    expect(after(3_000, 1).partial).toBe(0.35);
  });
});

describe('blocks', () => {
  const place = { accountId: 'a', prefix: '+880171234' };
  const block = (times: number) =>
    ({ ...place, rule: 'conversion', statistic: 12, threshold: 11.5, times, durationMs: 0, shadow: false }) as const;

  it('last 10 minutes, twice as long each time, and 12 hours at the most', () => {
    expect([1, 2, 7].map(blockDurationMs)).toEqual([10 * minuteMs, 20 * minuteMs, 640 * minuteMs]);
    expect([8, 1_000].map(blockDurationMs)).toEqual([12 * hourMs, 12 * hourMs]);
  });

  it('are in effect until their end, and remembered for a day after it', () => {
    const blocks = new Blocks(10);
    expect(blocks.nextTimes(place, 0)).toBe(1);
    blocks.apply(block(3), 1_000, 0);
    expect([blocks.active(place, 999)?.times, blocks.active(place, 1_000)]).toEqual([3, null]);
    const endMs = 1_000 + thresholds.blockRememberedMs;
    expect([blocks.nextTimes(place, endMs - 1), blocks.nextTimes(place, endMs)]).toEqual([4, 1]);
  });

  it('take one probe a minute', () => {
    const blocks = new Blocks(10);
    expect(blocks.mayProbe(place, 0)).toBe(false);
    blocks.apply(block(1), hourMs, 0);
    expect(blocks.mayProbe(place, 0)).toBe(true);
    blocks.probed(place, 0);
    expect([blocks.mayProbe(place, minuteMs - 1), blocks.mayProbe(place, minuteMs)]).toEqual([false, true]);
  });

  it('are held up to the share of an account, which takes none of another', () => {
    const blocks = new Blocks(2);
    blocks.apply({ ...block(1), accountId: 'b' }, hourMs, 0);
    for (const prefix of ['+1', '+2', '+3']) blocks.apply({ ...block(1), prefix }, hourMs, 0);
    const active = (accountId: string, prefix: string) => blocks.active({ accountId, prefix }, 0) !== null;
    expect([active('a', '+1'), active('a', '+2'), active('a', '+3')]).toEqual([false, true, true]);
    expect(active('b', place.prefix)).toBe(true);
  });

  it('that ended first are forgotten first, then those by rules that end first', () => {
    const blocks = new Blocks(3);
    const apply = (prefix: string, untilMs: number, nowMs: number, rule: 'conversion' | 'operator' = 'conversion') =>
      blocks.apply({ ...block(1), prefix, rule }, untilMs, nowMs);
    const remembered = (...prefixes: string[]) =>
      prefixes.filter((prefix) => blocks.nextTimes({ accountId: 'a', prefix }, 5_000) === 2);
    apply('+1', 1_000, 0, 'operator');
    apply('+2', hourMs, 0);
    apply('+3', 2_000, 0);
    apply('+4', hourMs - 1, 3_000);
    expect(remembered('+1', '+2', '+3', '+4')).toEqual(['+2', '+3', '+4']);
    apply('+5', hourMs, 3_000);
    expect(remembered('+2', '+3', '+4', '+5')).toEqual(['+2', '+4', '+5']);
    // All are in effect.
    apply('+6', hourMs, 3_000);
    expect(remembered('+2', '+4', '+5', '+6')).toEqual(['+2', '+5', '+6']);
  });

  it('of a person stay where they take the whole share and a rule finds one more', () => {
    const blocks = new Blocks(2);
    for (const prefix of ['+1', '+2']) blocks.apply({ ...block(1), prefix, rule: 'operator' }, hourMs, 0);
    blocks.apply({ ...block(1), prefix: '+3' }, hourMs, 0);
    expect(['+1', '+2', '+3'].filter((prefix) => blocks.active({ accountId: 'a', prefix }, 0))).toEqual(['+1', '+2']);
    // A rule may still find numbers that a person has blocked.
    blocks.apply({ ...block(2), prefix: '+2' }, hourMs, 0);
    expect(blocks.active({ accountId: 'a', prefix: '+2' }, 0)?.times).toBe(2);
  });

  it('of a person are forgotten last', () => {
    const blocks = new Blocks(2);
    for (const [prefix, rule] of [
      ['+1', 'operator'],
      ['+2', 'conversion'],
      ['+3', 'conversion'],
      ['+4', 'operator'],
      ['+5', 'operator'],
    ] as const) {
      blocks.apply({ ...block(1), prefix, rule }, hourMs, 0);
    }
    const held = ['+1', '+2', '+3', '+4', '+5'].filter((prefix) => blocks.active({ accountId: 'a', prefix }, 0));
    expect(held).toEqual(['+4', '+5']);
    blocks.apply({ ...block(1), prefix: '+6' }, hourMs, 0);
    blocks.apply({ ...block(1), prefix: '+7' }, hourMs, 0);
    expect(blocks.active({ accountId: 'a', prefix: '+5' }, 0)).not.toBeNull();
  });
});

describe('clients', () => {
  it('count different numbers of an hour, less those that entered their code', () => {
    const clients = new Clients(1_000);
    for (let at = 0; at < 5; at += 1) clients.sent('ip 1', `+${at}`, 0);
    clients.sent('ip 1', '+0', 0);
    expect([clients.others('ip 1', '+9', 0), clients.others('ip 1', '+0', 0)]).toEqual([5, 4]);
    clients.uncount('ip 1', '+3');
    expect(clients.others('ip 1', '+9', hourMs - 1)).toBe(4);
    expect(clients.others('ip 1', '+9', hourMs)).toBe(0);
  });

  it('forget the first client when there are too many numbers', () => {
    const clients = new Clients(3);
    for (const [client, to] of [
      ['a', '+1'],
      ['a', '+2'],
      ['b', '+1'],
      ['b', '+2'],
    ] as const)
      clients.sent(client, to, 0);
    expect([clients.others('a', '+9', 0), clients.others('b', '+9', 0)]).toEqual([0, 2]);
  });

  it('make room when the hour of their numbers is over', () => {
    const clients = new Clients(3);
    for (const to of ['+1', '+2', '+3']) clients.sent('a', to, 0);
    expect(clients.others('a', '+9', hourMs)).toBe(0);
    clients.sent('a', '+4', hourMs);
    clients.sent('b', '+5', hourMs);
    clients.sent('b', '+6', hourMs);
    expect([clients.others('a', '+9', hourMs), clients.others('b', '+9', hourMs)]).toEqual([1, 2]);
  });
});
