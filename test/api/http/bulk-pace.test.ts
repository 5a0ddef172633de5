// The pace of bulk work beside single messages: what makes it faster and slower, and its bounds, on a manual clock.
import { describe, expect, test } from 'vitest';
import { BulkPace } from '../../../api/http/bulk-pace.ts';
import { limits } from '../../../platform/limits.ts';
import { ManualClock } from '../../support/manual-clock.ts';

const { first, min, max, growth, shrinkTo, shrinkEveryMs, sliceEveryMs, itemsMax, slowShareMax, slowMin } =
  limits.bulkPace;

function withPace() {
  const clock = new ManualClock();
  const pace = new BulkPace(clock);
  /** Messages as bulk work accepts them, for so long. */
  const use = (ms: number) => {
    for (let at = 0; at < ms; at += 100) {
      clock.advance(100);
      for (let left = Math.round(pace.messagesPerS / 10); left > 0; left -= 1) pace.tookMessage();
    }
  };
  return { clock, pace, use };
}

const tooMany = { count: 100, slow: Math.ceil(slowMin) + 1 };

describe('the pace of bulk work', () => {
  test('begins with a few messages every sliceEveryMs', () => {
    const { pace } = withPace();
    expect(pace.messagesPerS).toBe(first);
    expect(pace.itemsPerSlice).toBe((first * sliceEveryMs) / 1_000);
    expect(pace.pauseMs).toBe(sliceEveryMs);
  });

  test('grows while it is used and no OTP is slow, up to no pause at all', () => {
    const { pace, use } = withPace();
    for (let taken = 0; taken < first; taken += 1) pace.tookMessage();
    expect(pace.messagesPerS).toBeCloseTo(first * (1 + growth));
    use(120_000);
    expect(pace.messagesPerS).toBe(max);
    expect(pace.itemsPerSlice).toBe(itemsMax);
    expect(pace.pauseMs).toBeLessThan(1);
  });

  test('does not grow while nothing is accepted', () => {
    const { clock, pace } = withPace();
    clock.advance(600_000);
    expect([pace.pauseMs, pace.messagesPerS]).toEqual([sliceEveryMs, first]);
  });

  test('is halved when too many OTP are slow, once in shrinkEveryMs, down to min', () => {
    const { clock, pace } = withPace();
    pace.received(tooMany);
    expect(pace.messagesPerS).toBe(Math.max(min, first * shrinkTo));
    clock.advance(shrinkEveryMs - 1);
    pace.received(tooMany);
    expect(pace.messagesPerS).toBe(Math.max(min, first * shrinkTo));
    for (let time = 0; time < 10; time += 1) {
      clock.advance(shrinkEveryMs);
      pace.received(tooMany);
    }
    expect(pace.messagesPerS).toBe(min);
  });

  test('does not grow while too many are slow, and does again when they have been forgotten', () => {
    const { pace, use } = withPace();
    pace.received(tooMany);
    use(1_000);
    expect(pace.messagesPerS).toBe(Math.max(min, first * shrinkTo));
    use(10_000);
    expect(pace.messagesPerS).toBeGreaterThan(Math.max(min, first * shrinkTo));
  });

  test('is not changed by one slow OTP, nor by a share below slowShareMax of many', () => {
    const { pace } = withPace();
    pace.received({ count: 1, slow: 1 });
    expect(pace.messagesPerS).toBe(first);
    const count = 10_000;
    pace.received({ count, slow: count * slowShareMax - 1 });
    expect(pace.messagesPerS).toBe(first);
    pace.received({ count: 0, slow: 2 });
    expect(pace.messagesPerS).toBe(Math.max(min, first * shrinkTo));
  });

  test('counts the publishes of this thread too: slow against their usual time', () => {
    const { pace } = withPace();
    for (let time = 0; time < 100; time += 1) pace.otpTook(20);
    expect(pace.messagesPerS).toBe(first);
    for (let time = 0; time < 3; time += 1) pace.otpTook(50);
    expect(pace.messagesPerS).toBe(Math.max(min, first * shrinkTo));
  });
});
