// The base of everything: clock, deadline, ring queue, randomness, and that errors are ignored only with a reason.
import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import { AssertionFailed, assert } from '../../platform/assert.ts';
import { systemClock } from '../../platform/clock.ts';
import { DeadlineExceeded, until, withDeadline } from '../../platform/deadline.ts';
import { ignoring, messageOf } from '../../platform/errors.ts';
import { maskNumber } from '../../platform/log.ts';
import { jitteredBackoffMs, secretBytes, seededRandom } from '../../platform/random.ts';
import { RingQueue } from '../../platform/ring-queue.ts';
import { metrics } from '../../platform/telemetry.ts';
import { ManualClock } from '../support/manual-clock.ts';

describe('the ring queue', () => {
  test('equals a bounded array, in any sequence of pushes and takes', () => {
    const step = fc.oneof({ weight: 3, arbitrary: fc.nat() }, { weight: 2, arbitrary: fc.constant(null) });
    fc.assert(
      fc.property(fc.integer({ min: 1, max: 8 }), fc.array(step, { maxLength: 60 }), (capacity, steps) => {
        const queue = new RingQueue<number>(capacity);
        const model: number[] = [];
        for (const each of steps) {
          expect(queue.peek()).toBe(model[0]);
          if (each === null) expect(queue.shift()).toBe(model.shift());
          else {
            expect(queue.push(each)).toBe(model.length < capacity);
            if (model.length < capacity) model.push(each);
          }
          expect(queue.size).toBe(model.length);
        }
      }),
    );
  });
  test('a queue needs a bound', () => {
    for (const capacity of [0, -1, 1.5, Number.NaN, Number.POSITIVE_INFINITY]) {
      expect(() => new RingQueue(capacity)).toThrow(AssertionFailed);
    }
  });
});

describe('deadlines', () => {
  test('work in time settles as the work does', async () => {
    const clock = new ManualClock();
    await expect(withDeadline('work', 10, Promise.resolve(7), clock)).resolves.toBe(7);
    await expect(withDeadline('work', 10, Promise.reject(new Error('no')), clock)).rejects.toThrow('no');
    expect(clock.timers).toBe(0);
  });
  test('work that never ends is rejected at its deadline, not before', async () => {
    const clock = new ManualClock();
    let given: unknown = null;
    const waiting = withDeadline('the peer', 10, new Promise(() => {}), clock).catch(
      (error: unknown) => (given = error),
    );
    clock.advance(9);
    await Promise.resolve();
    expect(given).toBeNull();
    clock.advance(1);
    await waiting;
    expect(given).toBeInstanceOf(DeadlineExceeded);
    expect(given).toMatchObject({ message: 'the peer did not finish within 10 ms' });
    expect(new DeadlineExceeded('a drain', 5_999.503_8).message).toBe('a drain did not finish within 6000 ms');
  });
  test('until returns the result of the condition, and names what it waited for in vain', async () => {
    let asked = 0;
    expect(await until('third', () => (asked += 1) === 3 && 'yes', { everyMs: 1 })).toBe('yes');
    await expect(until('never', () => false, { limitMs: 5, everyMs: 1 })).rejects.toThrow('never');
  });
});

describe('the clock', () => {
  test('a sleep that is aborted rejects with the reason, before and while it sleeps', async () => {
    const reason = new Error('stop');
    await expect(systemClock.sleep(10_000, AbortSignal.abort(reason))).rejects.toBe(reason);
    const abort = new AbortController();
    const sleeping = systemClock.sleep(10_000, abort.signal);
    abort.abort(reason);
    await expect(sleeping).rejects.toBe(reason);
  });
  test('a canceled timer does not fire and can be canceled again', async () => {
    let fired = 0;
    const cancels = [systemClock.after(1, () => (fired += 1)), systemClock.every(1, () => (fired += 1))];
    for (const cancel of [...cancels, ...cancels]) cancel();
    await systemClock.sleep(10);
    expect(fired).toBe(0);
  });
  test('monotonic time does not follow a step of the wall clock', () => {
    const clock = new ManualClock(1_000);
    clock.advance(5);
    clock.step(-3_600_000);
    expect(clock.monotonicMs()).toBe(5);
    expect(clock.nowMs()).toBe(1_005 - 3_600_000);
  });
});

describe('randomness', () => {
  test('a seed repeats itself, stays in [0, 1) and is spread out', () => {
    const [one, two] = [seededRandom(7), seededRandom(7)];
    let sum = 0;
    for (let count = 0; count < 2_000; count += 1) {
      const value = one.unit();
      expect(value).toBe(two.unit());
      expect(value >= 0 && value < 1).toBe(true);
      sum += value;
    }
    expect(sum / 2_000).toBeCloseTo(0.5, 1);
  });
  test('a backoff is never negative and never above its cap, at any attempt', () => {
    fc.assert(
      fc.property(
        fc.nat(10_000),
        fc.integer({ min: 1, max: 5_000 }),
        fc.integer({ min: 1, max: 60_000 }),
        fc.nat(),
        (attempt, base, cap, seed) => {
          const waitMs = jitteredBackoffMs(attempt, base, cap, seededRandom(seed));
          expect(waitMs).toBeGreaterThanOrEqual(0);
          expect(waitMs).toBeLessThan(Math.min(cap, base * 2 ** Math.min(attempt, 30)) + 1);
        },
      ),
    );
  });
  test('secret bytes come in the length asked for and do not repeat', () => {
    expect(secretBytes(16)).toHaveLength(16);
    expect(secretBytes(16).equals(secretBytes(16))).toBe(false);
  });
});

test('a masked number shows at most eight of its characters and hides at least two', () => {
  expect(maskNumber('+8801712345678')).toBe('+88017******78');
  fc.assert(
    fc.property(
      fc.string({ minLength: 1, maxLength: 20 }).filter((text) => !text.includes('*')),
      (number) => {
        const masked = maskNumber(number);
        expect(masked).toHaveLength(number.length);
        expect([...masked].filter((each) => each === '*').length).toBeGreaterThanOrEqual(Math.min(2, number.length));
      },
    ),
  );
});

test('an ignored error is counted under its reason', async () => {
  ignoring(new Error('x'), 'a test lets it go');
  const { values } = await metrics.errorsIgnored.get();
  expect(values.find((each) => each.labels.why === 'a test lets it go')?.value).toBe(1);
});

test('an assertion names what would have gone wrong', () => {
  expect(() => assert(false, 'two would own one bind')).toThrow('two would own one bind');
  expect(() => assert(1, 'never')).not.toThrow();
});

test('of a host with several addresses every failure is reported', () => {
  const refused = ['::1', '127.0.0.1'].map((address) => new Error(`connect ECONNREFUSED ${address}:1`));
  expect(messageOf(new AggregateError(refused))).toBe('connect ECONNREFUSED ::1:1; connect ECONNREFUSED 127.0.0.1:1');
  expect(messageOf(new AggregateError(refused, 'all of them'))).toBe('all of them');
});
