// The share of the last ones: about the last hundred count, a new outage shows within a fifth of them, and what is usual
// is taken off up to a bound.
import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import { RecentShare, unusualShare } from '../../../policy/otp-hedging/recent-share.ts';

const after = (...runs: (readonly [times: number, isSuch: boolean])[]) => {
  const share = new RecentShare(100);
  for (const [times, isSuch] of runs) for (let at = 0; at < times; at += 1) share.add(isSuch);
  return share;
};

describe('the share of the last hundred', () => {
  test('needs its minimum: at it there is one, below there is none', () => {
    expect(after([20, true]).share(20)).toBeNull();
    expect(after([23, true]).share(20)).toBe(1);
  });
  test('reaches a fifth with the 23rd in a row after many others, not before', () => {
    expect(after([5_000, false], [22, true]).share(20)).toBeLessThan(0.2);
    expect(after([5_000, false], [23, true]).share(20)).toBeGreaterThanOrEqual(0.2);
  });
  test('forgets what was before three hundred others', () => {
    expect(after([5_000, true], [300, false]).share(20)).toBeLessThan(0.05);
  });
  test('keeps its value while it fades, until there are too few', () => {
    const share = after([1_000, true], [50, false]);
    const before = share.share(20)!;
    share.fade(0.5);
    expect(share.share(20)).toBeCloseTo(before);
    share.fade(0.1);
    expect(share.share(20)).toBeNull();
  });
  test('is between the lowest and the highest that it can be, in any sequence', () => {
    fc.assert(
      fc.property(fc.array(fc.boolean(), { minLength: 1, maxLength: 500 }), (all) => {
        const share = new RecentShare(100);
        for (const isSuch of all) share.add(isSuch);
        const found = share.share(0)!;
        expect(found).toBeGreaterThanOrEqual(0);
        expect(found).toBeLessThanOrEqual(1 + 1e-9);
        if (all.every((each) => each === all[0])) expect(found).toBeCloseTo(all[0] ? 1 : 0);
      }),
    );
  });
});

describe('a share without what is usual', () => {
  const bounds = { expected: 0.05, usualMax: 0.3 };
  test('is the share itself while nothing more than expected is usual, or known', () => {
    expect(unusualShare(0.2, null, bounds)).toBe(0.2);
    expect(unusualShare(0.2, 0.05, bounds)).toBe(0.2);
    expect(unusualShare(0.2, 0.01, bounds)).toBe(0.2);
  });
  test('is less by what is usual beyond that, up to the bound', () => {
    expect(unusualShare(0.3, 0.15, bounds)).toBeCloseTo(0.2);
    expect(unusualShare(1, 0.35, bounds)).toBeCloseTo(0.7);
    expect(unusualShare(1, 1, bounds)).toBeCloseTo(0.7);
  });
  test('grows with the recent share and shrinks with the usual one', () => {
    const share = fc.double({ min: 0, max: 1, noNaN: true });
    fc.assert(
      fc.property(share, share, share, (recent, usual, more) => {
        const found = unusualShare(recent, usual, bounds);
        expect(unusualShare(Math.max(recent, more), usual, bounds)).toBeGreaterThanOrEqual(found);
        expect(unusualShare(recent, Math.max(usual, more), bounds)).toBeLessThanOrEqual(found);
        expect(found).toBeLessThanOrEqual(recent);
      }),
    );
  });
});
