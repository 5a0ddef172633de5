// After how long a receipt is late: the p95 of its operator prefix, with too few that of the carrier, with too few of that
// the default; and never for a prefix whose messages get no receipts.
import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import { limits } from '../../../platform/limits.ts';
import { ReceiptTimes } from '../../../policy/otp-hedging/receipt-times.ts';
import { ManualClock } from '../../support/manual-clock.ts';

const bounds = limits.otpHedging.receiptTimes;
const { seenMin, countMin, defaultMs } = bounds;

function open(changes: Partial<typeof bounds> = {}) {
  const clock = new ManualClock();
  const times = new ReceiptTimes({ ...bounds, ...changes }, clock);
  const add = (prefix: string, count: number, tookMs: number) => {
    for (let at = 0; at < count; at += 1) times.add(prefix, tookMs);
  };
  return { clock, times, add };
}

describe('a prefix', () => {
  test('with fewer than twenty receipts is never late: it may get none', () => {
    const { times, add } = open();
    add('17', seenMin - 1, 100);
    expect(times.lateAfterMs('17')).toBeNull();
    add('17', 1, 100);
    expect(times.lateAfterMs('17')).toBe(defaultMs);
    expect(times.lateAfterMs('13')).toBeNull();
  });
  test('with enough has its own p95, and with fewer that of the carrier', () => {
    const { times, add } = open();
    add('17', countMin - 1, 100);
    expect(times.lateAfterMs('17')).toBe(defaultMs);
    expect(times.usualMs).toBeNull();
    add('13', seenMin, 2_000);
    expect(times.usualMs).toBeGreaterThanOrEqual(2_000);
    expect(times.lateAfterMs('17')).toBe(times.usualMs);
    add('17', 1, 100);
    expect(times.lateAfterMs('17')).toBeLessThan(111);
    expect(times.lateAfterMs('13')).toBe(times.usualMs);
  });
  test('without any receipt for two hours is taken for one that gets none', () => {
    const { clock, times, add } = open();
    add('17', countMin, 100);
    for (let hour = 0; hour < 2; hour += 1) {
      clock.advance(bounds.idleMs);
      add('13', 1, 100);
    }
    expect(times.lateAfterMs('17')).toBeNull();
  });
  test('follows a carrier that becomes slow within a thousand receipts', () => {
    const { times, add } = open();
    add('17', 5_000, 100);
    add('17', 100, 3_000);
    expect(times.lateAfterMs('17')).toBeGreaterThanOrEqual(3_000);
    add('17', 2_500, 100);
    expect(times.lateAfterMs('17')).toBeLessThan(111);
  });
});

test('at most its prefixes are kept, and those that are used stay', () => {
  const { times, add } = open({ prefixesMax: 10 } as never);
  add('17', countMin, 100);
  for (let at = 0; at < 200; at += 1) {
    add(`x${at}`, 1, 100);
    add('17', 1, 100);
  }
  expect(times.lateAfterMs('17')).not.toBeNull();
  expect(times.lateAfterMs('x0')).toBeNull();
});

test('whatever comes, a twentieth of a prefix’s last receipts took longer, within the width of a bucket', () => {
  fc.assert(
    fc.property(fc.array(fc.integer({ min: 1, max: 10_000 }), { minLength: countMin, maxLength: 400 }), (all) => {
      const { times } = open({ halfLife: 1e9 } as never);
      for (const tookMs of all) times.add('17', tookMs);
      const found = times.lateAfterMs('17')!;
      const longer = all.filter((tookMs) => tookMs > found).length;
      const longerByABucket = all.filter((tookMs) => tookMs > found / 1.1).length;
      expect(longer).toBeLessThanOrEqual(all.length * 0.05);
      expect(longerByABucket).toBeGreaterThanOrEqual(Math.floor(all.length * 0.05));
    }),
    { numRuns: 50 },
  );
});
