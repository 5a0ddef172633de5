// What a carrier may have counted: by the assumed jitter at first, by what answers prove afterwards.
import { describe, expect, test } from 'vitest';
import { AnswerTimes, jitterMs } from '../../../../actors/carrier/pacing/answer-times.ts';
import { SlidingWindow } from '../../../../actors/carrier/pacing/sliding-window.ts';

/** A bind whose answers have come after 5 ms for two seconds; now is 10,000. */
function settled(perS: number): SlidingWindow {
  const second = new SlidingWindow(perS);
  for (let atMs = 0; atMs < 2_000; atMs += 100) {
    for (const bind of [0, 1]) second.answered(second.written(1, bind, atMs), bind, atMs, atMs + 5);
  }
  return second;
}
const nowMs = 10_000;

describe('without any answer', () => {
  test('a second starts over a jitter after the oldest was written', () => {
    const second = new SlidingWindow(3);
    expect(second.availableAtMs(3, 0)).toBe(Number.NEGATIVE_INFINITY);
    for (const atMs of [0, 10, 20]) second.written(1, 0, atMs);
    expect(second.availableAtMs(1, 999)).toBe(1_000 + jitterMs);
    expect(second.availableAtMs(2, 999)).toBe(1_010 + jitterMs);
    expect(second.availableAtMs(1, 999, 2)).toBe(1_020 + jitterMs);
  });
  test('more segments than the contract allows count as all of it', () => {
    const second = new SlidingWindow(3);
    second.written(10, 0, 500);
    expect(second.availableAtMs(10, 600)).toBe(1_500 + jitterMs);
    expect(second.availableAtMs(1, 600, 10)).toBe(1_500 + jitterMs);
  });
});

describe('an answer', () => {
  test('that is as early as the earliest proves that the segment was counted when it was written', () => {
    const second = settled(2);
    second.answered(second.written(2, 0, nowMs), 0, nowMs, nowMs + 5);
    const availableAtMs = second.availableAtMs(1, nowMs + 10);
    expect(availableAtMs).toBeGreaterThanOrEqual(nowMs + 1_000);
    expect(availableAtMs).toBeLessThanOrEqual(nowMs + 1_010);
  });
  test('that is late shows that the segment may have been counted as late', () => {
    const second = settled(2);
    const number = second.written(2, 0, nowMs);
    second.answered(number, 0, nowMs, nowMs + 305);
    expect(second.availableAtMs(1, nowMs + 310)).toBeGreaterThanOrEqual(nowMs + 1_300);
    expect(second.availableAtMs(1, nowMs + 310)).toBeLessThanOrEqual(nowMs + 1_310);
  });
  test('to a later one proves the earlier ones of its bind, and none of another', () => {
    const second = settled(3);
    second.written(1, 0, nowMs);
    second.written(1, 1, nowMs);
    second.answered(second.written(1, 0, nowMs + 50), 0, nowMs + 50, nowMs + 55);
    expect(second.availableAtMs(1, nowMs + 900)).toBeLessThanOrEqual(nowMs + 1_060);
    // The other bind's answer is overdue: until it comes there is always a second to wait.
    expect(second.availableAtMs(2, nowMs + 900)).toBe(nowMs + 1_900);
    expect(second.availableAtMs(2, nowMs + 950)).toBe(nowMs + 1_950);
  });
  test('that is missing on one bind alone delays what goes over the others for half a second and no longer', () => {
    const second = settled(2);
    second.written(1, 0, nowMs);
    second.answered(second.written(1, 1, nowMs + 600), 1, nowMs + 600, nowMs + 605);
    expect(second.availableAtMs(1, nowMs + 1_500)).toBe(nowMs + 2_500);
    expect(second.availableAtMs(1, nowMs + 1_501)).toBe(nowMs + 1_000 + jitterMs);
  });
  test('of one bind a moment before that of the other, when a carrier resumes, does not show that the other alone is silent', () => {
    const second = settled(2);
    second.written(1, 0, nowMs);
    const other = second.written(1, 1, nowMs + 600);
    const wakesMs = nowMs + 1_700;
    second.answered(other, 1, nowMs + 600, wakesMs);
    expect(second.availableAtMs(1, wakesMs)).toBe(wakesMs + 1_000);
    expect(second.availableAtMs(1, wakesMs + 199)).toBe(wakesMs + 1_199);
    expect(second.availableAtMs(1, wakesMs + 200)).toBe(nowMs + 1_000 + jitterMs);
  });
  test('out of order, or to a forgotten segment, changes nothing that is proven', () => {
    const second = settled(2);
    const first = second.written(1, 0, nowMs);
    const last = second.written(1, 0, nowMs + 1);
    second.answered(last, 0, nowMs + 1, nowMs + 6);
    const before = [second.availableAtMs(1, nowMs), second.availableAtMs(2, nowMs)];
    second.answered(first, 0, nowMs, nowMs + 400);
    second.answered(0, 0, 0, nowMs + 500);
    expect([second.availableAtMs(1, nowMs), second.availableAtMs(2, nowMs)]).toEqual(before);
  });
  test('that never comes leaves the moment it was given up', () => {
    const second = settled(1);
    const number = second.written(1, 0, nowMs);
    expect(second.availableAtMs(1, nowMs + 3_000)).toBe(nowMs + 4_000);
    second.unanswered(number, 0, nowMs + 3_000);
    expect(second.availableAtMs(1, nowMs + 3_900)).toBe(nowMs + 4_000);
  });
  test('proves no less than the jitter for a minute after the carrier counted differently', () => {
    const second = settled(1);
    second.distrust(nowMs);
    second.answered(second.written(1, 0, nowMs), 0, nowMs, nowMs + 5);
    expect(second.availableAtMs(1, nowMs + 10)).toBe(nowMs + 1_000 + jitterMs);
    const laterMs = nowMs + 61_000;
    second.answered(second.written(1, 0, laterMs), 0, laterMs, laterMs + 5);
    expect(second.availableAtMs(1, laterMs + 10)).toBeLessThanOrEqual(laterMs + 1_010);
  });
});

describe('another contract', () => {
  test('that is smaller sends nothing before the last segments allow it', () => {
    const second = new SlidingWindow(100);
    for (let atMs = 0; atMs < 100; atMs += 1) second.written(1, atMs % 2, atMs);
    second.resize(10);
    expect(second.availableAtMs(1, 500)).toBe(1_090 + jitterMs);
    expect(second.availableAtMs(10, 500)).toBe(1_099 + jitterMs);
  });
  test('that is larger has capacity at once for the difference', () => {
    const second = new SlidingWindow(10);
    second.written(10, 0, 100);
    second.resize(15);
    expect(second.availableAtMs(5, 200)).toBeLessThanOrEqual(200);
    expect(second.availableAtMs(6, 200)).toBe(1_100 + jitterMs);
  });
  test.each([4, 9, 40])('of %i per second keeps what waits for an answer, of each bind', (perS) => {
    const second = settled(9);
    const numbers = Array.from({ length: 9 }, (_, n) => second.written(1, n % 2, nowMs + n));
    second.resize(perS);
    for (const n of [8, 7]) second.answered(numbers[n] as number, n % 2, nowMs + n, nowMs + n + 5);
    const availableAtMs = second.availableAtMs(perS, nowMs + 20);
    expect(availableAtMs).toBeGreaterThanOrEqual(nowMs + 1_000);
    expect(availableAtMs).toBeLessThanOrEqual(nowMs + 1_008 + jitterMs);
    second.written(perS, 0, nowMs + 2_000);
    expect(second.availableAtMs(1, nowMs + 2_001)).toBe(nowMs + 3_000 + jitterMs);
  });
  test('that is a fraction never sends more than its whole part', () => {
    const second = new SlidingWindow(3.9);
    second.written(3, 0, 0);
    expect(second.availableAtMs(1, 1)).toBe(1_000 + jitterMs);
    const less = new SlidingWindow(0.5);
    less.written(1, 0, 0);
    expect(less.availableAtMs(1, 1)).toBe(2_000 + jitterMs);
  });
});

describe('answer times', () => {
  test('that always vary prove nothing: the jitter is assumed, and a stall beyond the usual is still detected', () => {
    const times = new AnswerTimes();
    for (let n = 0; n < 200; n += 1) {
      times.add(n * 100, n * 100 + 50 + (n % 10) * 20);
      times.countedByMs(n * 100, n * 100 + 50 + (n % 10) * 20, false);
    }
    times.add(30_000, 30_150);
    expect(times.countedByMs(30_000, 30_150, false)).toBe(30_000 + jitterMs);
    times.add(31_000, 32_000);
    expect(times.countedByMs(31_000, 32_000, false)).toBeGreaterThan(31_900);
    expect(times.isOverdue(40_000, 40_200)).toBe(false);
    expect(times.isOverdue(40_000, 41_500)).toBe(true);
  });
  test('forget an old path: a longer one is the usual one after some twenty seconds', () => {
    const times = new AnswerTimes();
    const publish = (atMs: number, tookMs: number) => {
      times.add(atMs, atMs + tookMs);
      return times.countedByMs(atMs, atMs + tookMs, false) - atMs;
    };
    for (let atMs = 0; atMs < 5_000; atMs += 100) publish(atMs, 5);
    expect(publish(5_000, 65)).toBeGreaterThanOrEqual(60);
    for (let atMs = 5_100; atMs < 30_000; atMs += 100) publish(atMs, 65);
    expect(publish(30_000, 65)).toBeLessThan(10);
  });
});
