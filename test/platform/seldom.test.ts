// What is said at most once in a while, and how much was left unsaid.
import { expect, test } from 'vitest';
import { Seldom } from '../../platform/seldom.ts';
import { ManualClock } from '../support/manual-clock.ts';

test('the first is said at once, then one in each while with how many were not', () => {
  const clock = new ManualClock();
  const seldom = new Seldom(1_000, clock);
  expect(seldom.happened()).toBe(0);
  expect([seldom.happened(), seldom.happened()]).toEqual([null, null]);
  clock.advance(999);
  expect(seldom.happened()).toBeNull();
  clock.advance(1);
  expect(seldom.happened()).toBe(3);
  expect(seldom.happened()).toBeNull();
  clock.advance(5_000);
  expect(seldom.happened()).toBe(1);
});
