// The draw of carriers by conversion: it is of the distribution it claims, the same for the same numbers, keeps its floor
// for all carriers, and demotes on one side of each limit only. All with seeds.
import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import { type Random, seededRandom } from '../../../platform/random.ts';
import type { ConversionScore } from '../../../policy/otp-conversion/contract.ts';
import { conversionFigures } from '../../../policy/otp-conversion/figures.ts';
import {
  type ConversionCandidate,
  betaDraw,
  drawByConversion,
  wilsonBound,
} from '../../../policy/routing/conversion-draw.ts';

const { floorShare, demotedBy, demotedFromCodes } = conversionFigures;
const scored = (verified: number, missed: number): ConversionScore => ({ verified, missed });
const candidatesOf = (scores: Record<string, ConversionScore>): ConversionCandidate[] =>
  Object.entries(scores).map(([name, score]) => ({ name, score }));

/** For the draw of one message: another source for each name, all of them from one seed. */
function sources(seed: number): (name: string) => Random {
  const { unit } = seededRandom(seed);
  const salt = Math.floor(unit() * 2 ** 32);
  return (name) => seededRandom([...name].reduce((sum, char) => Math.imul(sum, 31) + char.charCodeAt(0), salt));
}

const withoutFloor = (name: string): Random => (name === '' ? { unit: () => 0.999 } : seededRandom(name.length));

/** How often each comes first in so many draws, as shares. */
function firsts(scores: Record<string, ConversionScore>, draws: number): Record<string, number> {
  const counts: Record<string, number> = Object.fromEntries(Object.keys(scores).map((name) => [name, 0]));
  for (let at = 0; at < draws; at += 1) {
    const name = drawByConversion(candidatesOf(scores), sources(at))[0]?.name ?? '';
    counts[name] = (counts[name] ?? 0) + 1 / draws;
  }
  return counts;
}
/** Four standard deviations of a share of so many draws. */
const spread = (share: number, draws: number) => 4 * Math.sqrt((share * (1 - share)) / draws);

test.each([
  [1, 1],
  [1, 9],
  [3.5, 1.25],
  [71, 31],
  [2, 5_000],
])('Beta(%d, %d) has its mean and its variance', (one, other) => {
  const random = seededRandom(7);
  const draws = 20_000;
  const numbers = Array.from({ length: draws }, () => betaDraw(one, other, random));
  const mean = numbers.reduce((sum, each) => sum + each, 0) / draws;
  const variance = numbers.reduce((sum, each) => sum + (each - mean) ** 2, 0) / draws;
  const [wantedMean, sum] = [one / (one + other), one + other];
  const wanted = (wantedMean * (1 - wantedMean)) / (sum + 1);
  expect(Math.abs(mean - wantedMean)).toBeLessThan(4 * Math.sqrt(wanted / draws));
  expect(variance / wanted).toBeGreaterThan(0.9);
  expect(variance / wanted).toBeLessThan(1.1);
  expect(numbers.every((each) => each >= 0 && each <= 1)).toBe(true);
});

const anyScore = fc.record({
  verified: fc.double({ min: 0, max: 5_000, noNaN: true }),
  missed: fc.double({ min: 0, max: 5_000, noNaN: true }),
});
const anyCandidates = fc
  .array(anyScore, { minLength: 1, maxLength: 16 })
  .map((scores) => scores.map((score, at) => ({ name: `c${at}`, score })));

test('for any scores: every carrier is there once, the same for the same numbers, not all are demoted, and those come last', () => {
  fc.assert(
    fc.property(anyCandidates, fc.integer(), (candidates, seed) => {
      const drawn = drawByConversion(candidates, sources(seed));
      expect(drawn.map(({ name }) => name).toSorted()).toEqual(candidates.map(({ name }) => name).toSorted());
      expect(drawByConversion(candidates, sources(seed))).toEqual(drawn);
      expect(drawByConversion(candidates, withoutFloor).some(({ how }) => how === 'drew')).toBe(true);
      const order = drawn.filter(({ how }) => how !== 'floor');
      const ranks = order.map(({ how }) => (how === 'demoted' ? 1 : 0));
      expect(ranks).toEqual(ranks.toSorted((one, other) => one - other));
      for (const how of ['drew', 'demoted']) {
        const among = order.filter((each) => each.how === how).map((each) => each.drawn);
        expect(among).toEqual(among.toSorted((one, other) => other - one));
      }
    }),
    { numRuns: 500 },
  );
});

describe('the share of each carrier', () => {
  const draws = 20_000;

  test('is even among carriers of which nothing is known', () => {
    const shares = firsts({ alpha: scored(0, 0), beta: scored(0, 0), gamma: scored(0, 0) }, draws);
    for (const share of Object.values(shares)) expect(Math.abs(share - 1 / 3)).toBeLessThan(spread(1 / 3, draws));
  });

  test('is the floor, no more and no less, for one that is surely worse, also where it is too new to be demoted', () => {
    for (const bad of [scored(0, 500), scored(0, 80)]) {
      const shares = firsts({ good: scored(350, 150), bad }, draws);
      expect(Math.abs((shares['bad'] ?? 0) - floorShare)).toBeLessThan(spread(floorShare, draws));
    }
  });

  test('is never below the floor, whatever the scores', () => {
    fc.assert(
      fc.property(
        fc.array(anyScore, { minLength: 2, maxLength: 6 }),
        fc.integer({ min: 0, max: 2 ** 30 }),
        (scores, seed) => {
          const candidates = scores.map((score, at) => ({ name: `c${at}`, score }));
          const counts = new Map<string, number>();
          const rounds = 3_000;
          for (let at = 0; at < rounds; at += 1) {
            const name = drawByConversion(candidates, sources(seed + at))[0]?.name ?? '';
            counts.set(name, (counts.get(name) ?? 0) + 1);
          }
          // Six standard deviations: with so many shares compared four are reached by chance.
          const least = floorShare - 1.5 * spread(floorShare, rounds);
          for (const { name } of candidates) expect((counts.get(name) ?? 0) / rounds).toBeGreaterThan(least);
        },
      ),
      { numRuns: 20, seed: 1 },
    );
  });

  test('is as likely as the carrier is the best', () => {
    // P(Beta(8, 4) > Beta(6, 6)), and of the rest what the floor of the other takes.
    const shares = firsts({ better: scored(7, 3), worse: scored(5, 5) }, draws);
    const random = seededRandom(3);
    let wins = 0;
    for (let at = 0; at < 100_000; at += 1) if (betaDraw(8, 4, random) > betaDraw(6, 6, random)) wins += 1;
    const expected = floorShare + (1 - 2 * floorShare) * (wins / 100_000);
    expect(Math.abs((shares['better'] ?? 0) - expected)).toBeLessThan(spread(expected, draws) + 0.01);
  });
});

describe('demoted is a carrier', () => {
  const howOf = (scores: Record<string, ConversionScore>, name: string) => {
    return drawByConversion(candidatesOf(scores), withoutFloor).find((each) => each.name === name)?.how;
  };
  const good = scored(700, 300);

  test.each([
    ['with 100 codes', scored(0, demotedFromCodes), good, 'demoted'],
    ['not with fewer', scored(0, demotedFromCodes - 0.01), good, 'drew'],
    ['when the better one has 100', scored(0, 1_000), scored(demotedFromCodes, 0), 'demoted'],
    ['not when that has fewer', scored(0, 1_000), scored(demotedFromCodes - 0.01, 0), 'drew'],
  ])('%s', (_, bad, better, expected) => {
    expect(howOf({ better, bad }, 'bad')).toBe(expected);
    expect(howOf({ better, bad }, 'better')).toBe('drew');
  });

  test('when the best it may have is worse than the least another has by three points, on the one side and not on the other', () => {
    // Between these two scores the difference of the bounds crosses three points.
    const gap = (verified: number) => wilsonBound(good, '-') - wilsonBound(scored(verified, 1_000 - verified), '+');
    let [below, above] = [0, 1_000];
    for (let step = 0; step < 40; step += 1) {
      const middle = (below + above) / 2;
      if (gap(middle) > demotedBy) below = middle;
      else above = middle;
    }
    expect(above - below).toBeLessThan(1e-6);
    expect(howOf({ good, bad: scored(below - 1e-3, 1_000 - below + 1e-3) }, 'bad')).toBe('demoted');
    expect(howOf({ good, bad: scored(above + 1e-3, 1_000 - above - 1e-3) }, 'bad')).toBe('drew');
    // Their shares: three points and both spreads apart.
    expect(below / 1_000).toBeGreaterThan(0.6);
    expect(below / 1_000).toBeLessThan(0.62);
  });

  test('and comes behind one of which nothing is known; by the floor it comes first', () => {
    const scores = { good, bad: scored(0, 500), fresh: scored(0, 0) };
    const floorOf =
      (unit: number) =>
      (of: string): Random =>
        of === '' ? { unit: () => unit } : seededRandom(5);
    const order = (unit: number) => drawByConversion(candidatesOf(scores), floorOf(unit));
    expect(order(3 * floorShare).at(-1)).toMatchObject({ name: 'bad', how: 'demoted' });
    expect(order(0).map(({ name, how }) => [name, how])[0]).toEqual(['good', 'floor']);
    expect(order(floorShare)[0]).toMatchObject({ name: 'bad', how: 'floor' });
    expect(order(2 * floorShare - 1e-9)[0]).toMatchObject({ name: 'bad', how: 'floor' });
    expect(order(2 * floorShare)[0]).toMatchObject({ name: 'fresh', how: 'floor' });
  });
});

test("Wilson's bounds are those of his formula", () => {
  // 0.7 of 100: 0.604 to 0.781 at 95 % (two independent computations agree to three digits).
  expect(wilsonBound(scored(70, 30), '-')).toBeCloseTo(0.604, 3);
  expect(wilsonBound(scored(70, 30), '+')).toBeCloseTo(0.781, 3);
  expect(wilsonBound(scored(0, 100), '-')).toBeCloseTo(0, 12);
  expect(wilsonBound(scored(0, 100), '+')).toBeCloseTo(0.037, 3);
});
