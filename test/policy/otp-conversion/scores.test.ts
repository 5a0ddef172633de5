// How many codes of a carrier are entered: when a code counts and when its verification comes too late, how it fades, that
// the order of what is reported changes nothing, and what one thread holds.
import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import type { ConversionPlace } from '../../../policy/otp-conversion/contract.ts';
import { conversionFigures } from '../../../policy/otp-conversion/figures.ts';
import { ConversionScores } from '../../../policy/otp-conversion/scores.ts';

const { maturityMs, halfLifeMs } = conversionFigures;
const bounds = { watchedMax: 1_000, scoresMax: 100, carriersMax: 10 };
const place: ConversionPlace = { carrier: 'alpha', operator: 'gamma', sender: 'HELIO' };
const taken = (scores: ConversionScores, messageId: string, nowMs: number, of: Partial<ConversionPlace> = {}) =>
  scores.taken({ ...place, ...of, messageId }, nowMs);

describe('a code', () => {
  test('counts two minutes after its carrier took it, entered or not, and not before', () => {
    const scores = new ConversionScores(bounds);
    taken(scores, 'a', 1_000);
    taken(scores, 'b', 1_000);
    scores.verified('a', 2_000);
    scores.advance(1_000 + maturityMs - 1);
    expect(scores.of(place, 1_000 + maturityMs - 1)).toEqual({ verified: 0, missed: 0 });
    scores.advance(1_000 + maturityMs);
    expect(scores.of(place, 1_000 + maturityMs)).toEqual({ verified: 1, missed: 1 });
  });

  test.each([
    ['in the last millisecond', maturityMs - 1, { verified: 1, missed: 0 }],
    ['a millisecond later', maturityMs, { verified: 0, missed: 1 }],
  ])('entered %s of its two minutes', (_, afterMs, expected) => {
    const scores = new ConversionScores(bounds);
    taken(scores, 'a', 0);
    scores.verified('a', afterMs);
    scores.advance(maturityMs);
    expect(scores.of(place, maturityMs)).toEqual(expected);
  });

  test('counts once, for the carrier that took it, however often it is reported', () => {
    const scores = new ConversionScores(bounds);
    for (const at of [0, 1, 2]) {
      taken(scores, 'a', at);
      scores.verified('a', at);
    }
    scores.advance(maturityMs + 2);
    scores.advance(maturityMs + 2);
    expect(scores.of(place, maturityMs)).toEqual({ verified: 1, missed: 0 });
    expect(scores.of({ ...place, carrier: 'beta' }, maturityMs)).toEqual({ verified: 0, missed: 0 });
  });

  test('that is verified and that no carrier is reported to have taken counts for none', () => {
    const scores = new ConversionScores(bounds);
    scores.verified('a', 0);
    scores.advance(maturityMs);
    expect([...scores.ofCarriers(maturityMs)]).toEqual([]);
  });

  test('of which a second copy was sent does not count, entered or not', () => {
    const scores = new ConversionScores(bounds);
    for (const id of ['a', 'b', 'c']) taken(scores, id, 0);
    scores.verified('a', 1);
    for (const id of ['a', 'b', 'unknown']) scores.copied(id);
    scores.verified('b', 2);
    scores.advance(maturityMs);
    expect(scores.of(place, maturityMs)).toEqual({ verified: 0, missed: 1 });
  });

  test('counts apart by carrier, operator and sender', () => {
    const scores = new ConversionScores(bounds);
    const others = [place, { ...place, carrier: 'b' }, { ...place, operator: 'b' }, { ...place, sender: 'B' }];
    others.forEach((of, at) => {
      for (let nth = 0; nth <= at; nth += 1) taken(scores, `${at} ${nth}`, 0, of);
    });
    scores.advance(maturityMs);
    expect(others.map((of) => scores.of(of, maturityMs).missed)).toEqual([1, 2, 3, 4]);
    expect(Object.fromEntries([...scores.ofCarriers(maturityMs)].map(([name, { missed }]) => [name, missed]))).toEqual({
      alpha: 8,
      b: 2,
    });
  });

  test('counts half after fifteen minutes, a quarter after thirty', () => {
    const scores = new ConversionScores(bounds);
    taken(scores, 'a', 0);
    scores.advance(maturityMs);
    expect(scores.of(place, maturityMs + halfLifeMs).missed).toBeCloseTo(0.5, 12);
    expect(scores.of(place, maturityMs + 2 * halfLifeMs).missed).toBeCloseTo(0.25, 12);
    taken(scores, 'b', halfLifeMs);
    scores.verified('b', halfLifeMs);
    scores.advance(maturityMs + halfLifeMs);
    const { verified, missed } = scores.of(place, maturityMs + halfLifeMs);
    expect([verified, missed]).toEqual([1, expect.closeTo(0.5, 12)]);
  });
});

test('what is reported of codes in any order within their two minutes, and looked at at any times, gives the same score', () => {
  const code = fc.record({
    atMs: fc.integer({ min: 0, max: 60_000 }),
    enteredAfterMs: fc.option(fc.integer({ min: 0, max: 2 * maturityMs }), { nil: null }),
    carrier: fc.constantFrom('alpha', 'beta'),
  });
  const doneMs = 60_000 + 3 * maturityMs;
  fc.assert(
    fc.property(
      fc.array(code, { maxLength: 40 }),
      fc.array(fc.integer({ min: 0, max: doneMs }), { maxLength: 20 }),
      fc.infiniteStream(fc.double({ min: 0, max: 1, noNaN: true })),
      (codes, looks, shuffled) => {
        const published = codes.flatMap(({ atMs, enteredAfterMs, carrier }, at) => [
          { ms: atMs, publish: (scores: ConversionScores) => taken(scores, String(at), atMs, { carrier }) },
          ...(enteredAfterMs === null
            ? []
            : [
                {
                  ms: atMs + enteredAfterMs,
                  publish: (scores: ConversionScores) => scores.verified(String(at), atMs + enteredAfterMs),
                },
              ]),
        ]);
        const inTime = published.toSorted((one, other) => one.ms - other.ms);
        // Those of one moment come in another order.
        const others = inTime
          .map((each) => ({ ...each, by: shuffled.next().value as number }))
          .toSorted((one, other) => one.ms - other.ms || one.by - other.by);
        const lookedOnce = new ConversionScores(bounds);
        for (const { publish } of inTime) publish(lookedOnce);
        const lookedOften = new ConversionScores(bounds);
        const steps = [...others, ...looks.map((ms) => ({ ms, publish: (of: ConversionScores) => of.advance(ms) }))];
        for (const { publish } of steps.toSorted((one, other) => one.ms - other.ms)) publish(lookedOften);
        for (const scores of [lookedOnce, lookedOften]) scores.advance(doneMs);
        for (const carrier of ['alpha', 'beta']) {
          const [one, other] = [lookedOnce, lookedOften].map((scores) => scores.of({ ...place, carrier }, doneMs));
          expect(other?.verified).toBeCloseTo(one?.verified ?? -1, 9);
          expect(other?.missed).toBeCloseTo(one?.missed ?? -1, 9);
          const own = codes.filter((each) => each.carrier === carrier);
          const entered = own.filter(({ enteredAfterMs }) => enteredAfterMs !== null && enteredAfterMs < maturityMs);
          const weights = (of: typeof codes) =>
            of.reduce((sum, { atMs }) => sum + 0.5 ** ((doneMs - maturityMs - atMs) / halfLifeMs), 0);
          expect(one?.verified).toBeCloseTo(weights(entered), 9);
          expect((one?.verified ?? 0) + (one?.missed ?? 0)).toBeCloseTo(weights(own), 9);
        }
      },
    ),
  );
});

test('a verification that comes before its carrier is reported counts as one that comes after', () => {
  const scores = new ConversionScores(bounds);
  scores.verified('a', 0);
  taken(scores, 'a', 40);
  scores.advance(maturityMs);
  expect(scores.of(place, maturityMs)).toEqual({ verified: 1, missed: 0 });
});

describe('a thread holds', () => {
  test('so many codes that wait: further ones do not count, and those that wait come to their end', () => {
    const scores = new ConversionScores({ ...bounds, watchedMax: 3 });
    for (let at = 0; at < 4; at += 1) taken(scores, String(at), at);
    scores.verified('0', 5);
    scores.advance(maturityMs + 10);
    const { verified, missed } = scores.of(place, maturityMs);
    expect([verified, missed].map(Math.round)).toEqual([1, 2]);
    taken(scores, '5', maturityMs + 10);
    scores.advance(2 * maturityMs + 10);
    expect(Math.round(scores.of(place, 2 * maturityMs).missed)).toBe(3);
  });

  test('so many scores: the one counted longest ago is forgotten', () => {
    const scores = new ConversionScores({ ...bounds, scoresMax: 2 });
    for (const [at, sender] of ['A', 'B', 'A', 'C'].entries()) taken(scores, String(at), at, { sender });
    scores.advance(2 * maturityMs);
    expect(['A', 'B', 'C'].map((sender) => scores.of({ ...place, sender }, maturityMs).missed > 0)).toEqual([
      true,
      false,
      true,
    ]);
  });
});
