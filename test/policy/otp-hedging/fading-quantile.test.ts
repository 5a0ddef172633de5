// Quantiles of recent times: never too short, at most a tenth too long, and what is old is forgotten by halves.
import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import { FadingQuantile } from '../../../policy/otp-hedging/fading-quantile.ts';

const minute = 60_000;
const filled = (times: readonly number[], nowMs = 0) => {
  const quantile = new FadingQuantile(5 * minute, 0);
  for (const each of times) quantile.add(each, nowMs);
  return quantile;
};

test('is not below the exact quantile of the same times, and at most a tenth above', () => {
  fc.assert(
    fc.property(
      fc.array(fc.double({ min: 1, max: 60_000, noNaN: true }), { minLength: 1, maxLength: 300 }),
      fc.constantFrom(0.5, 0.95, 0.99),
      (times, of) => {
        const exact = [...times].sort((a, b) => a - b)[Math.max(0, Math.ceil(times.length * of) - 1)]!;
        const found = filled(times).quantile(of, 1, 0)!;
        expect(found).toBeGreaterThanOrEqual(exact * (1 - 1e-6));
        expect(found).toBeLessThanOrEqual(exact * 1.1 * (1 + 1e-6));
      },
    ),
  );
});

describe('too few times', () => {
  test('are no quantile: at the minimum there is one, below there is none', () => {
    expect(filled(Array.from({ length: 99 }, () => 20)).quantile(0.99, 100, 0)).toBeNull();
    expect(filled(Array.from({ length: 100 }, () => 20)).quantile(0.99, 100, 0)).not.toBeNull();
    expect(filled([]).quantile(0.99, 0, 0)).toBeNull();
  });
  test('are what is left after a while', () => {
    const quantile = filled(Array.from({ length: 150 }, () => 20));
    expect(quantile.countAt(5 * minute)).toBeCloseTo(75);
    expect(quantile.quantile(0.99, 100, 5 * minute)).toBeNull();
  });
});

test('follows a carrier that becomes slow, and one that becomes fast again', () => {
  const quantile = filled(Array.from({ length: 1_000 }, () => 20));
  for (let at = 0; at < 20; at += 1) quantile.add(900, minute);
  expect(quantile.quantile(0.99, 100, minute)).toBeGreaterThan(890);
  for (let at = 0; at < 4_000; at += 1) quantile.add(20, 30 * minute);
  expect(quantile.quantile(0.99, 100, 30 * minute)).toBeLessThan(25);
});

test('counts the same over weeks: weights are divided before they lose their precision', () => {
  const quantile = new FadingQuantile(5 * minute, 0);
  const days = 30 * 24 * 60;
  for (let at = 0; at < days; at += 1) quantile.add(20, at * minute);
  // One a minute, each half after five: 1 / (1 - 2^(-1/5)).
  expect(quantile.countAt((days - 1) * minute)).toBeCloseTo(7.725, 2);
  expect(quantile.quantile(0.5, 5, days * minute)).toBeLessThan(22);
});

test('times beyond its range count at its ends', () => {
  expect(filled([0, -5, Number.NaN]).quantile(0.99, 1, 0)).toBe(1);
  expect(filled([10_000_000]).quantile(0.99, 1, 0)).toBeGreaterThanOrEqual(120_000);
});
