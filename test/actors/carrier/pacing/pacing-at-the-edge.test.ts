// All of pacing against a model of a carrier's counter: nearly the whole contract without faults, and never more than
// it when the carrier, the line or the actor stalls for up to two seconds, again and again.
import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import { seededRandom } from '../../../../platform/random.ts';
import { type Scene, type Stall, lognormal, play } from './counting-carrier.ts';

const contracts = [10, 100, 1_000, 5_000];

function between(seed: number, least: number, most: number): () => number {
  const random = seededRandom(seed);
  return () => least + random.unit() * (most - least);
}

describe.each(contracts)('a contract of %i per second', (tps) => {
  const seconds = tps === 5_000 ? 12 : 20;
  test('is used to 98 % and never exceeded by a nearby carrier that answers in 1 to 10 ms', () => {
    const { share, throttled } = play({ tps, seconds, answerMs: between(1, 1, 10), intentMs: between(2, 3, 12) });
    expect(share).toBeGreaterThan(0.98);
    expect(throttled).toBe(0);
  });
  test('is used to 98 % by a carrier a country away, over a line with jitter', () => {
    const { share, throttled } = play({ tps, seconds, wayMs: between(1, 40, 44), answerMs: between(2, 1, 10) });
    expect(share).toBeGreaterThan(0.98);
    expect(throttled).toBe(0);
  });
  test.each([
    ['some 200 ms later, more or less', 200],
    ['a second later, more or less', 1_000],
  ])('loses no more than a twentieth of it when answers come %s', (_, medianMs) => {
    const answerMs = lognormal(seededRandom(7), medianMs, 0.5);
    const { share, throttled } = play({ tps, seconds: tps < 1_000 ? 150 : 40, wayMs: between(1, 10, 12), answerMs });
    expect(share).toBeGreaterThan(0.95);
    expect(throttled).toBe(0);
  });
  test('loses two seconds of a stall of two seconds, and little more', () => {
    for (const kind of ['ourStalls', 'theirStalls', 'lineStalls'] as const) {
      const { share, throttled } = play({
        tps,
        seconds: 12,
        answerMs: between(1, 1, 10),
        [kind]: [{ atMs: 6_003, forMs: 2_000 }],
      });
      expect(throttled).toBe(0);
      // A carrier that stalled processes what we wrote meanwhile when it resumes: that counts into the next second.
      expect(share).toBeGreaterThan(kind === 'ourStalls' ? 0.82 : 0.74);
    }
  });
});

type RouteCandidate = { way: number; jitter: number };

const stalls = fc.array(
  fc.record({
    // The first seconds show what is usual.
    atMs: fc.integer({ min: 3_000, max: 14_000 }),
    forMs: fc.oneof(fc.integer({ min: 1, max: 100 }), fc.integer({ min: 1, max: 2_000 })),
  }),
  { maxLength: 3 },
);

/** A line silent for 1.7 s, whose first bind was answered a few milliseconds before the second. */
const wakesOneBindFirst: [
  number,
  number,
  Record<`${'our' | 'their' | 'line'}Stalls`, Stall[]>,
  RouteCandidate,
  number,
  number,
] = [
  10,
  4,
  { ourStalls: [], theirStalls: [], lineStalls: [{ atMs: 10_882, forMs: 1_721 }] },
  { way: 8, jitter: 0 },
  7,
  1_289_460_795,
];

test('no second of the carrier has more than the contract, whatever stalls, whenever, however often', () => {
  fc.assert(
    fc.property(
      fc.constantFrom(10, 50, 100, 400, 1_000),
      fc.integer({ min: 1, max: 4 }),
      fc.record({ ourStalls: stalls, theirStalls: stalls, lineStalls: stalls }),
      fc.record({ way: fc.integer({ min: 0, max: 40 }), jitter: fc.integer({ min: 0, max: 3 }) }),
      fc.integer({ min: 1, max: 10 }),
      fc.integer(),
      (tps, binds, standstills, { way, jitter }, answer, seed) => {
        const scene: Scene = {
          tps,
          seconds: 16,
          binds,
          ...standstills,
          wayMs: between(seed, way, way + jitter),
          answerMs: between(seed + 1, 1, 1 + answer),
          intentMs: between(seed + 2, 3, 13),
        };
        expect(play(scene).throttled).toBe(0);
      },
    ),
    { numRuns: 150, examples: [wakesOneBindFirst] },
  );
});

const atTheBeginning = fc.record({
  atMs: fc.integer({ min: 0, max: 2_500 }),
  forMs: fc.integer({ min: 1, max: 1_000 }),
});

test('a bind that has no answer yet recognises a stall of a second', () => {
  fc.assert(
    fc.property(
      fc.constantFrom(100, 300, 1_000),
      fc.constantFrom('theirStalls' as const, 'lineStalls' as const),
      atTheBeginning,
      fc.integer(),
      (tps, kind, stall, seed) => {
        const scene = { tps, seconds: 6, binds: 1, answerMs: between(seed, 8, 14), [kind]: [stall] };
        expect(play(scene).throttled).toBe(0);
      },
    ),
    { numRuns: 100, examples: [[100, 'theirStalls', { atMs: 5, forMs: 300 }, 1]] },
  );
});

test('a longer one may cost what was outstanding', () => {
  const { throttled } = play({ tps: 100, seconds: 8, theirStalls: [{ atMs: 20, forMs: 1_400 }] });
  expect(throttled).toBeLessThanOrEqual(100);
});
