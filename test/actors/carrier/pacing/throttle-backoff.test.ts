// A carrier that throttles: the rate is cut by the share of throttled answers, and recovers with clean seconds.
import fc from 'fast-check';
import { expect, test } from 'vitest';
import { ThrottleBackoff } from '../../../../actors/carrier/pacing/throttle-backoff.ts';

/** A second with 1,000 answers of which `throttledAnswers` at its end are throttled; the rate then. */
function rateAfter(throttledAnswers: number, answers = 1_000): number {
  const slow = new ThrottleBackoff(1_000);
  for (let n = 0; n < answers - throttledAnswers; n += 1) slow.answered((n * 999) / answers);
  for (let n = 0; n < throttledAnswers; n += 1) {
    slow.answered(999);
    slow.onThrottled(999);
  }
  return slow.ratePerS(999);
}

test('one throttled answer among a thousand costs a fiftieth, and is forgotten after a clean second', () => {
  expect(rateAfter(1)).toBeCloseTo(980);
  const slow = new ThrottleBackoff(1_000);
  for (let n = 0; n < 1_000; n += 1) slow.answered(n);
  slow.onThrottled(999);
  expect(slow.ratePerS(1_998)).toBeCloseTo(980);
  expect(slow.ratePerS(1_999)).toBe(1_000);
});

test('a share of throttled answers cuts by twice that share, and a burst by half, whatever comes in one second', () => {
  expect(rateAfter(100)).toBeCloseTo(800);
  expect(rateAfter(250)).toBeCloseTo(500);
  expect(rateAfter(1_000)).toBeCloseTo(500);
  expect(rateAfter(5, 5)).toBeCloseTo(500);
});

test('a twentieth of the contract is restored for each clean second, and no throttled second is clean', () => {
  const slow = new ThrottleBackoff(1_000);
  for (let atMs = 0; atMs < 1_000; atMs += 10) slow.onThrottled(atMs);
  expect(slow.ratePerS(1_980)).toBeCloseTo(500);
  expect(slow.ratePerS(1_990)).toBeCloseTo(550);
  expect(slow.ratePerS(10_989)).toBeCloseTo(950);
  expect(slow.ratePerS(10_990)).toBe(1_000);
});

test('continued throttling cuts second after second', () => {
  const slow = new ThrottleBackoff(1_000);
  for (let atMs = 0; atMs < 3_000; atMs += 10) {
    slow.answered(atMs);
    slow.onThrottled(atMs);
  }
  expect(slow.ratePerS(2_999)).toBeCloseTo(125);
});

test('is never less than one per second, nor more than the contract, and comes back to all of it', () => {
  fc.assert(
    fc.property(
      fc.integer({ min: 1, max: 10_000 }),
      fc.array(fc.tuple(fc.integer({ min: 1, max: 3_000 }), fc.boolean()), { maxLength: 60 }),
      (fullPerS, answers) => {
        const slow = new ThrottleBackoff(fullPerS);
        let atMs = 0;
        for (const [gapMs, complains] of answers) {
          atMs += gapMs;
          slow.answered(atMs);
          if (complains) slow.onThrottled(atMs);
          expect(slow.ratePerS(atMs)).toBeGreaterThanOrEqual(1);
          expect(slow.ratePerS(atMs)).toBeLessThanOrEqual(fullPerS);
        }
        expect(slow.ratePerS(atMs + 21_000)).toBe(fullPerS);
      },
    ),
  );
});

test('another contract in the middle of a cut keeps the cut where it is lower', () => {
  const slow = new ThrottleBackoff(1_000);
  slow.onThrottled(0);
  slow.setFull(2_000);
  expect(slow.ratePerS(0)).toBeCloseTo(500);
  slow.setFull(100);
  expect(slow.ratePerS(0)).toBe(100);
});
