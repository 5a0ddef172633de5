// Bench reports cannot overstate: a rate is that of the arrivals over the time they took, a run that ends behind its
// load misses its target, and a missing figure meets none.
import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { latencyFigures } from '../../bench/harness/latency-figures.ts';
import { behindMsMax, endedBehindMs, servedPerS, servedShareMin } from '../../bench/harness/rates.ts';
import { isMet } from '../../bench/harness/report.ts';
import { LatencyHistogram } from '../../smpp/simulator/latency-histogram.ts';

/** Arrivals of `count` messages offered at `offeredPerS` to something that serves `capacityPerS`. */
function served(offeredPerS: number, capacityPerS: number, count: number) {
  const rate = Math.min(offeredPerS, capacityPerS);
  return {
    timesUs: Array.from({ length: count }, (_, n) => (n * 1e6) / rate),
    lastIntendedUs: ((count - 1) * 1e6) / offeredPerS,
  };
}

describe('the rate of a run', () => {
  it('is the one at which it was served: 4,800/s of 7,000 offered is 4,800/s, and no target is met', () => {
    const { timesUs, lastIntendedUs } = served(7_000, 4_800, 70_000);
    const ratePerS = servedPerS(timesUs);
    expect(ratePerS).toBeCloseTo(4_800, 6);
    expect(isMet({ figure: '', op: '>=', bound: 7_000 * servedShareMin }, ratePerS)).toBe(false);
    const behindMs = endedBehindMs(timesUs, lastIntendedUs);
    expect(behindMs).toBeGreaterThan(4_000);
    expect(isMet({ figure: '', op: '<=', bound: behindMsMax }, behindMs)).toBe(false);
  });

  it('is the offered one when the run keeps up', () => {
    const { timesUs, lastIntendedUs } = served(5_000, 6_000, 50_000);
    expect(isMet({ figure: '', op: '>=', bound: 5_000 * servedShareMin }, servedPerS(timesUs))).toBe(true);
    expect(endedBehindMs(timesUs, lastIntendedUs)).toBeCloseTo(0, 6);
  });

  it('is never above the number of arrivals over their time, in any order', () => {
    fc.assert(
      fc.property(fc.array(fc.integer({ min: 0, max: 1_000_000_000 }), { minLength: 2, maxLength: 200 }), (timesUs) => {
        const spanUs = Math.max(...timesUs) - Math.min(...timesUs);
        fc.pre(spanUs > 0);
        const ratePerS = servedPerS(timesUs);
        expect(ratePerS).toBeLessThanOrEqual((timesUs.length * 1e6) / spanUs);
        expect(servedPerS(timesUs.toReversed())).toBe(ratePerS);
      }),
    );
  });

  it('is none for fewer than two arrivals', () => {
    expect(servedPerS([])).toBeNaN();
    expect(servedPerS([5])).toBeNaN();
    expect(endedBehindMs([], 5)).toBeNaN();
  });
});

describe('a target', () => {
  it('is not met by a figure that was not measured', () => {
    const nothing = latencyFigures('accept', new LatencyHistogram().summary());
    expect(Object.keys(nothing)).toEqual(['accept_p50_ms', 'accept_p99_ms', 'accept_p999_ms']);
    for (const value of [...Object.values(nothing), undefined, null as unknown as number]) {
      for (const op of ['<=', '>=', '=='] as const)
        expect([value, op, isMet({ figure: '', op, bound: 0 }, value)]).toEqual([value, op, false]);
    }
  });

  it('is met at its bound and missed beyond it', () => {
    expect(isMet({ figure: '', op: '<=', bound: 5 }, 5)).toBe(true);
    expect(isMet({ figure: '', op: '<=', bound: 5 }, 5.001)).toBe(false);
    expect(isMet({ figure: '', op: '>=', bound: 5 }, 5)).toBe(true);
    expect(isMet({ figure: '', op: '>=', bound: 5 }, 4.999)).toBe(false);
  });

  it('takes its percentiles from the measured values', () => {
    const histogram = new LatencyHistogram();
    for (let value = 1; value <= 100; value += 1) histogram.add(value * 1_000);
    const { wait_p50_ms: middle, wait_max_ms: most } = latencyFigures('wait', histogram.summary(), ['p50', 'max']);
    expect(middle).toBeGreaterThanOrEqual(49);
    expect(middle).toBeLessThanOrEqual(51);
    expect(most).toBe(100);
  });
});
