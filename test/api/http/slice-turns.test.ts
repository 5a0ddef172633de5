// How bulk work takes turns and pauses beside single messages, on a manual clock.
import { describe, expect, test } from 'vitest';
import { type SliceKind, type Slices, SliceTurns } from '../../../api/http/slice-turns.ts';
import { nextTurn } from '../../../platform/clock.ts';
import { limits } from '../../../platform/limits.ts';
import { ManualClock } from '../../support/manual-clock.ts';

const { sliceMs, firstItems, atOnceMax, atOnceBesideSingles, largeFrom, waitMsMax, besideSingles } = limits.http.batch;
const { pauseMs, forMs } = besideSingles;
/** Between slices that accept messages. */
const paceMs = 100;
const itemsPerSlice = 5;

function withTurns() {
  const clock = new ManualClock();
  return { clock, turns: new SliceTurns(clock, { pauseMs: paceMs, itemsPerSlice, tookMessage() {} }) };
}

/** A promise and whether it has settled. */
function watched<T>(promise: Promise<T>): { promise: Promise<T>; isSettled: () => boolean } {
  let settled = false;
  void promise.then(() => {
    settled = true;
  });
  return { promise, isSettled: () => settled };
}

async function someTurns(): Promise<void> {
  for (let turn = 0; turn < 5; turn += 1) await nextTurn();
}

describe('the pause between two slices', () => {
  test('is 0 without single messages: the next slice waits for a turn only', async () => {
    const { clock, turns } = withTurns();
    const slices = turns.slices();
    await slices.next('messages');
    await slices.next('texts');
    await slices.next('messages');
    expect(clock.timers).toBe(0);
  });

  test.each([
    ['texts', pauseMs],
    ['messages', paceMs],
  ] as const)('between %s lasts %d ms while single messages arrive, and no less', async (kind, ms) => {
    const { clock, turns } = withTurns();
    turns.singleArrived();
    const slices = turns.slices();
    await slices.next(kind);
    expect(slices.isOver).toBe(false);
    clock.advance(sliceMs);
    expect(slices.isOver).toBe(true);
    const second = watched(slices.next(kind));
    await someTurns();
    clock.advance(ms - 0.1);
    await someTurns();
    expect(second.isSettled()).toBe(false);
    clock.advance(0.1);
    await second.promise;
  });

  test('is 0 for the first slice of a piece of work, and for what is prompt', async () => {
    const { clock, turns } = withTurns();
    turns.singleArrived();
    const slices = turns.slices();
    await slices.next();
    await slices.next('prompt');
    expect(clock.timers).toBe(0);
  });

  test('ends forMs after the last single message, and not before', async () => {
    const { clock, turns } = withTurns();
    turns.singleArrived();
    clock.advance(forMs - 1);
    const before = watched(turns.next());
    await someTurns();
    expect(before.isSettled()).toBe(false);
    clock.advance(pauseMs);
    await before.promise;
    clock.advance(1);
    await turns.next();
    expect(clock.timers).toBe(0);
  });

  test('gives one slice to each piece of work in the order of request', async () => {
    const { clock, turns } = withTurns();
    turns.singleArrived();
    const order: string[] = [];
    const work = async (name: string) => {
      for (let slice = 0; slice < 3; slice += 1) {
        await turns.next();
        order.push(name);
      }
    };
    const both = Promise.all([work('a'), work('b')]);
    for (let slice = 0; slice < 6; slice += 1) {
      await someTurns();
      clock.advance(pauseMs);
    }
    await both;
    expect(order).toEqual(['a', 'b', 'a', 'b', 'a', 'b']);
  });
});

describe('the messages of a slice', () => {
  async function messagesOf(slices: Slices, kind: SliceKind = 'prompt'): Promise<number> {
    await slices.next(kind);
    for (let taken = 0; ; taken += 1) {
      if (slices.isOver || taken > 1_000) return taken;
      slices.tookMessage();
    }
  }

  test('are firstItems in the first, and those of the pace in the next', async () => {
    const { clock, turns } = withTurns();
    turns.singleArrived();
    const slices = turns.slices();
    expect(await messagesOf(slices)).toBe(firstItems);
    const next = messagesOf(slices, 'messages');
    await someTurns();
    clock.advance(paceMs);
    expect(await next).toBe(itemsPerSlice);
  });

  test('are bounded by their time only when the slice is prompt: for OTP, and for a batch that is late', async () => {
    const { clock, turns } = withTurns();
    turns.singleArrived();
    const slices = turns.slices();
    await messagesOf(slices);
    expect(await messagesOf(slices)).toBeGreaterThan(1_000);
    clock.advance(sliceMs);
    expect(slices.isOver).toBe(true);
  });

  test('are bounded by their time only without single messages', async () => {
    const { clock, turns } = withTurns();
    const slices = turns.slices();
    expect(await messagesOf(slices)).toBeGreaterThan(1_000);
    clock.advance(sliceMs);
    expect(slices.isOver).toBe(true);
  });
});

describe('large batches', () => {
  function withWork(count: number) {
    const { clock, turns } = withTurns();
    const begun: number[] = [];
    const ends = Array.from({ length: count }, () => Promise.withResolvers<void>());
    const runs = ends.map(({ promise }, index) =>
      turns.run(largeFrom, async () => {
        begun.push(index);
        await promise;
        return index;
      }),
    );
    return { clock, turns, begun, runs, end: (index: number) => ends[index]?.resolve() };
  }

  test('are at work atOnceMax at a time; one that ends frees its place for the first that waits', async () => {
    const { begun, runs, end } = withWork(atOnceMax + 2);
    await someTurns();
    expect(begun).toHaveLength(atOnceMax);
    end(0);
    expect(await runs[0]).toBe(0);
    await someTurns();
    expect(begun.slice(atOnceMax)).toEqual([atOnceMax]);
    for (let index = 0; index < atOnceMax + 2; index += 1) end(index);
    await Promise.all(runs);
    expect(begun).toHaveLength(atOnceMax + 2);
  });

  test('are at work atOnceBesideSingles at a time beside single messages, and atOnceMax again after them', async () => {
    const { clock, turns } = withTurns();
    turns.singleArrived();
    const begun: number[] = [];
    const ends = Array.from({ length: 4 }, () => Promise.withResolvers<void>());
    const runs = ends.map(({ promise }, index) =>
      turns.run(largeFrom, () => {
        begun.push(index);
        return promise;
      }),
    );
    await someTurns();
    expect(begun).toHaveLength(atOnceBesideSingles);
    clock.advance(forMs);
    ends[0]?.resolve();
    await runs[0];
    await someTurns();
    expect(begun).toHaveLength(atOnceBesideSingles + atOnceMax);
    for (const end of ends) end.resolve();
    await Promise.all(runs);
  });

  test('free their place when they fail', async () => {
    const { turns } = withTurns();
    for (let time = 0; time < atOnceMax + 1; time += 1)
      await expect(turns.run(largeFrom, () => Promise.reject(new Error('failed')))).rejects.toThrow('failed');
    expect(await turns.run(largeFrom, () => Promise.resolve('worked'))).toBe('worked');
  });

  test('do not begin when they would wait longer than waitMsMax, and leave the queue', async () => {
    const { clock, begun, runs, end } = withWork(atOnceMax + 1);
    const last = watched(runs[atOnceMax] as Promise<number | null>);
    clock.advance(waitMsMax - 1);
    await someTurns();
    expect(last.isSettled()).toBe(false);
    clock.advance(1);
    expect(await last.promise).toBeNull();
    for (let index = 0; index < atOnceMax; index += 1) end(index);
    await Promise.all(runs);
    expect(begun).toHaveLength(atOnceMax);
    expect(clock.timers).toBe(0);
  });

  test('do not delay small ones', async () => {
    const { turns, runs, end } = withWork(atOnceMax + 1);
    expect(await turns.run(largeFrom - 1, () => Promise.resolve('small'))).toBe('small');
    for (let index = 0; index <= atOnceMax; index += 1) end(index);
    await Promise.all(runs);
  });
});
