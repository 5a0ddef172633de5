// What is logged at most once in an interval, and how much was suppressed.
import { expect, test } from 'vitest';
import { LogThrottle } from '../../platform/log-throttle.ts';
import { ManualClock } from '../support/manual-clock.ts';

test('the first is logged at once, then one in each interval with the number of suppressed ones', () => {
  const clock = new ManualClock();
  const throttle = new LogThrottle(1_000, clock);
  expect(throttle.allow()).toBe(0);
  expect([throttle.allow(), throttle.allow()]).toEqual([null, null]);
  clock.advance(999);
  expect(throttle.allow()).toBeNull();
  clock.advance(1);
  expect(throttle.allow()).toBe(3);
  expect(throttle.allow()).toBeNull();
  clock.advance(5_000);
  expect(throttle.allow()).toBe(1);
});
