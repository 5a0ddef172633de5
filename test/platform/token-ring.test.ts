// Values under numbers that count up: as a Map with a counter, whatever comes and goes in whatever order.
import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { TokenRing } from '../../platform/token-ring.ts';

describe('a ring of values by token', () => {
  it('has what a Map would have, in the order in which it was added', () => {
    const step = fc.oneof(
      fc.constant<'add'>('add'),
      fc.record({ gone: fc.nat(300) }),
      fc.record({ burst: fc.integer({ min: 1, max: 200 }) }),
    );
    fc.assert(
      fc.property(fc.array(step, { maxLength: 200 }), (steps) => {
        const ring = new TokenRing<{ nth: number }>();
        const map = new Map<number, { nth: number }>();
        let nth = 0;
        const add = () => {
          nth += 1;
          const value = { nth };
          map.set(ring.add(value), value);
        };
        for (const each of steps) {
          if (each === 'add') add();
          else if ('burst' in each) for (let at = 0; at < each.burst; at += 1) add();
          else {
            const token = nth - each.gone;
            expect(ring.get(token)).toBe(map.get(token));
            expect(ring.delete(token)).toBe(map.delete(token));
            expect(ring.delete(token)).toBe(false);
          }
          expect(ring.size).toBe(map.size);
        }
        expect([...ring.entries()]).toEqual([...map]);
        expect([...map.keys()].every((token, at, all) => at === 0 || token > (all[at - 1] ?? 0))).toBe(true);
      }),
    );
  });

  it('keeps an old entry while many come and go, and gives the room back', () => {
    const ring = new TokenRing<object>();
    const old = {};
    const token = ring.add(old);
    for (let at = 0; at < 100_000; at += 1) ring.delete(ring.add({}));
    expect([ring.get(token), ring.size]).toEqual([old, 1]);
    expect(ring.delete(token)).toBe(true);
    const next = ring.add(old);
    expect([next, ring.get(next), ring.get(token)]).toEqual([100_002, old, undefined]);
  });

  it('goes through what is there: without what is deleted or added meanwhile', () => {
    const ring = new TokenRing<{ name: string }>();
    const tokens = ['a', 'b', 'c', 'd'].map((name) => ring.add({ name }));
    const seen: string[] = [];
    for (const [, { name }] of ring.entries()) {
      seen.push(name);
      ring.delete(tokens[1] ?? 0);
      for (let at = 0; at < 100; at += 1) ring.add({ name: 'later' });
    }
    expect(seen).toEqual(['a', 'c', 'd']);
  });
});
