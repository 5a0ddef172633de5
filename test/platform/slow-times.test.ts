// What counts as slow: more than twice the usual time and a margin, whatever is usual.
import { describe, expect, test } from 'vitest';
import { limits } from '../../platform/limits.ts';
import { SlowTimes } from '../../platform/slow-times.ts';

const { usualFactor, marginMs } = limits.bulkPace.slow;

function after(...times: readonly number[]): SlowTimes {
  const slow = new SlowTimes();
  for (const ms of times) slow.note(ms);
  return slow;
}
const many = (count: number, ms: number) => Array.from({ length: count }, () => ms);

describe('slow times', () => {
  test.each([1, 20])('of usually %d ms begin above twice that and a margin', (usual) => {
    const times = after(usual);
    expect(times.note(usual * usualFactor + marginMs - 0.1)).toBe(false);
    expect(after(usual).note(usual * usualFactor + marginMs + 0.1)).toBe(true);
  });

  test('are counted until they are taken', () => {
    const times = after(1, 1, 50, 1, 60);
    expect(times.take()).toEqual({ count: 5, slow: 2 });
    expect(times.take()).toEqual({ count: 0, slow: 0 });
  });

  test('become usual when most times are like them', () => {
    const times = after(1, ...many(1_000, 30));
    times.take();
    expect(times.note(30)).toBe(false);
    expect(times.usualMs).toBeGreaterThan(13.5);
  });

  test('stay slow while they are few: the usual time is that of the faster ones', () => {
    const times = new SlowTimes();
    for (let round = 0; round < 500; round += 1) for (const ms of [1, 1, 1, 1, 1, 1, 1, 1, 1, 40]) times.note(ms);
    expect(times.take()).toEqual({ count: 5_000, slow: 500 });
    expect(times.usualMs).toBeLessThan(1.1);
  });
});
