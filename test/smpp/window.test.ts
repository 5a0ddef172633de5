// The send window: never fuller than allowed, every token settled once.
import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import { Window } from '../../smpp/window.ts';

describe('the window', () => {
  test('holds exactly its size', () => {
    const window = new Window<string>(2, 1_000);
    expect(window.take('a', 0)).toBe(1);
    expect(window.take('b', 0)).toBe(2);
    expect(window.take('c', 0)).toBe(0);
    expect(window.settle(1)).toEqual({ token: 'a', sentAtMs: 0 });
    expect(window.settle(1)).toBeUndefined();
    expect(window.free).toBe(1);
  });

  test('expires at the response timer and not before', () => {
    const window = new Window<string>(5, 1_000);
    window.take('a', 0);
    window.take('b', 1);
    const given: string[] = [];
    window.expire(999, (token) => given.push(token));
    expect(given).toEqual([]);
    window.expire(1_000, (token) => given.push(token));
    expect(given).toEqual(['a']);
    expect(window.free).toBe(4);
    expect(window.settle(1)).toBeUndefined();
    expect(window.settleLate(1)).toBe('a');
    expect(window.settleLate(1)).toBeUndefined();
  });

  test('remembers no more late submits than its size', () => {
    const window = new Window<number>(2, 1);
    for (let turn = 0; turn < 3; turn += 1) {
      window.take(turn, turn * 10);
      window.expire(turn * 10 + 1, () => {});
    }
    expect([1, 2, 3].map((sequence) => window.settleLate(sequence))).toEqual([undefined, 1, 2]);
  });

  test('wraps its sequence numbers past those in use', () => {
    const window = new Window<string>(3, 1_000, 0x7fffffff - 1);
    expect(window.take('a', 0)).toBe(0x7ffffffe);
    expect(window.take('b', 0)).toBe(0x7fffffff);
    expect(window.take('c', 0)).toBe(1);
    window.settle(0x7fffffff);
    expect(window.nextSequence()).toBe(2);
    const full = new Window<string>(3, 1_000, 0x7fffffff);
    full.take('last', 0);
    full.take('first', 0);
    expect(full.nextSequence()).toBe(2);
  });

  test('never loses a token and never settles one twice', () => {
    const step = fc.oneof(
      fc.constant({ kind: 'take' as const }),
      fc.record({ kind: fc.constant('settle' as const), pick: fc.nat(30) }),
      fc.record({ kind: fc.constant('wait' as const), ms: fc.nat(400) }),
    );
    fc.assert(
      fc.property(fc.array(step, { maxLength: 100 }), fc.integer({ min: 1, max: 8 }), (steps, pdusMax) => {
        const window = new Window<number>(pdusMax, 500);
        const settled: number[] = [];
        const sequences: number[] = [];
        let [taken, nowMs] = [0, 0];
        for (const next of steps) {
          if (next.kind === 'take') {
            const wasFull = window.free === 0;
            const sequence = window.take(taken, nowMs);
            expect(sequence === 0).toBe(wasFull);
            if (sequence > 0) {
              sequences.push(sequence);
              taken += 1;
            }
          } else if (next.kind === 'settle') {
            const entry = window.settle(sequences[next.pick] ?? 0);
            if (entry) settled.push(entry.token);
          } else {
            nowMs += next.ms;
            window.expire(nowMs, (token) => settled.push(token));
          }
          expect(window.size).toBeLessThanOrEqual(pdusMax);
        }
        settled.push(...window.failAll());
        expect(settled.sort((a, b) => a - b)).toEqual(Array.from({ length: taken }, (_, token) => token));
        expect(window.size).toBe(0);
      }),
    );
  });
});
