// How long bulk work rests beside single messages, with a clock that is moved by hand.
import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import { BulkPace } from '../../../api/http/bulk-pace.ts';
import { SliceTurns } from '../../../api/http/slice-turns.ts';
import { limits } from '../../../platform/limits.ts';
import { ManualClock } from '../../support/manual-clock.ts';

const { firstRestMs, restMsMax, shorterBy, queueMsMax, singlesMs, shortestMs } = limits.http.batch.besideSingles;

function pace() {
  const clock = new ManualClock();
  return { clock, bulk: new BulkPace(clock) };
}

describe('the rest between two slices', () => {
  test('is none without single messages', () => {
    expect(pace().bulk.restMs()).toBe(0);
  });

  test('begins long, because what bulk work will do is not known, and becomes none while publishes are quick', () => {
    const { bulk } = pace();
    bulk.singleTook(1);
    expect(bulk.restMs()).toBe(firstRestMs);
    for (let quick = 0; quick < firstRestMs / shorterBy + 1; quick += 1) bulk.singleTook(1);
    expect(bulk.restMs()).toBe(0);
  });

  test('doubles with each publish that waited, up to its bound', () => {
    const { bulk } = pace();
    bulk.singleTook(1);
    bulk.restMs();
    bulk.singleTook(1 + queueMsMax + 0.1);
    expect(bulk.restMs()).toBe(Math.min(restMsMax, 2 * firstRestMs));
    for (let slow = 0; slow < 10; slow += 1) bulk.singleTook(100);
    expect(bulk.restMs()).toBe(restMsMax);
  });

  test('counts what is more than the shortest publish of late: over a network all of them take long', () => {
    const { bulk } = pace();
    bulk.singleTook(8);
    for (let quick = 0; quick < firstRestMs / shorterBy + 1; quick += 1) bulk.singleTook(15.9);
    bulk.restMs();
    const before = bulk.restMs();
    bulk.singleTook(16);
    expect(bulk.restMs()).toBeLessThan(before);
    bulk.singleTook(16.1);
    expect(bulk.restMs()).toBeGreaterThan(before);
  });

  test('forgets a shortest publish that is two periods old', () => {
    const { clock, bulk } = pace();
    bulk.singleTook(1);
    for (let period = 0; period < 2; period += 1) {
      clock.advance(shortestMs);
      bulk.singleTook(8);
    }
    bulk.restMs();
    const before = bulk.restMs();
    bulk.singleTook(15);
    expect(bulk.restMs()).toBeLessThan(before);
  });

  test('ends when no single message has come for a while, and not a moment before', () => {
    const { clock, bulk } = pace();
    bulk.singleTook(1);
    clock.advance(singlesMs - 1);
    expect(bulk.restMs()).toBe(firstRestMs);
    clock.advance(1);
    expect(bulk.restMs()).toBe(0);
  });

  test('is between none and its bound whatever happens', () => {
    const step = fc.oneof(
      fc.record({ took: fc.double({ min: 0, max: 10_000, noNaN: true }) }),
      fc.record({ passed: fc.integer({ min: 0, max: 20_000 }) }),
    );
    fc.assert(
      fc.property(fc.array(step, { maxLength: 200 }), (steps) => {
        const { clock, bulk } = pace();
        for (const each of steps) {
          if ('took' in each) bulk.singleTook(each.took);
          else clock.advance(each.passed);
          const restMs = bulk.restMs();
          expect(restMs).toBeGreaterThanOrEqual(0);
          expect(restMs).toBeLessThanOrEqual(restMsMax);
        }
      }),
    );
  });
});

test('the first slice of a piece of work waits for its turn only, the second for the rest as well', async () => {
  const clock = new ManualClock();
  const turns = new SliceTurns(clock);
  turns.pace.singleTook(1);
  const slices = turns.slices();
  await slices.next();
  expect(clock.timers).toBe(0);
  expect(slices.isOver).toBe(false);
  clock.advance(limits.http.batch.sliceMs);
  expect(slices.isOver).toBe(true);
  const second = slices.next();
  expect(clock.timers).toBe(1);
  clock.advance(firstRestMs);
  await second;
});

test('a slice begins when its rest is over, and not a moment before', async () => {
  const clock = new ManualClock();
  const turns = new SliceTurns(clock);
  turns.pace.singleTook(1);
  let began = false;
  const next = turns.next().then(() => {
    began = true;
  });
  clock.advance(firstRestMs - 1);
  await Promise.resolve();
  expect(began).toBe(false);
  clock.advance(1);
  await next;
  expect(began).toBe(true);
});
