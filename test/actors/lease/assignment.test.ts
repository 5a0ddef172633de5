// The assignment of binds: even shares, as little movement as possible, the same result on every node. And the
// contract, split into whole segments that add up to it for every distribution.
import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import { shareOf, shareOfBind, type AssignableBind, assignBinds } from '../../../actors/lease/assignment.ts';

const graceMs = 2_000;
const salt = 'alpha submits';

/** Every node decides on the same state at once and does what it decided; resolves to the binds that moved. */
function round(candidates: readonly string[], binds: AssignableBind[]): number {
  const assignments = candidates.map((me) => assignBinds({ salt, me, candidates, binds, leaving: new Set(), graceMs }));
  let moved = 0;
  for (const [at, me] of candidates.entries()) {
    for (const key of assignments[at]!.release) {
      const bind = binds.find((each) => each.key === key)!;
      expect(bind.holder).toBe(me);
      binds[binds.indexOf(bind)] = { ...bind, holder: null, freeForMs: 0 };
      moved += 1;
    }
  }
  for (const [at, me] of candidates.entries()) {
    for (const key of assignments[at]!.claim) {
      const bind = binds.find((each) => each.key === key)!;
      expect(bind.holder).toBeNull();
      binds[binds.indexOf(bind)] = { ...bind, holder: me };
    }
  }
  return moved;
}

const counts = (candidates: readonly string[], binds: readonly AssignableBind[]) =>
  candidates.map((candidate) => binds.filter(({ holder }) => holder === candidate).length);
const free = (key: string): AssignableBind => ({ key, holder: null, freeForMs: 0 });
const nodes = fc.uniqueArray(fc.stringMatching(/^[a-z0-9]{1,6}$/), { minLength: 1, maxLength: 6 });
const binds = fc.integer({ min: 1, max: 20 }).map((many) => Array.from({ length: many }, (_, at) => `bind.${at}`));

describe('the assignment', () => {
  test('one node takes everything at once', () => {
    const assignment = assignBinds({
      salt,
      me: 'a',
      candidates: ['a'],
      binds: [free('1'), free('2'), free('3')],
      leaving: new Set(),
      graceMs,
    });
    expect(assignment).toEqual({ claim: ['1', '2', '3'], release: [] });
  });

  test('free binds are distributed evenly, no node claims another’s, and nothing moves afterwards', () => {
    fc.assert(
      fc.property(nodes, binds, (candidates, keys) => {
        const all = keys.map(free);
        expect(round(candidates, all)).toBe(0);
        const shares = counts(candidates, all);
        expect(all.every(({ holder }) => holder !== null)).toBe(true);
        expect(Math.max(...shares) - Math.min(...shares)).toBeLessThanOrEqual(1);
        expect(round(candidates, all)).toBe(0);
      }),
    );
  });

  test('a new node gets its share in two rounds, and no bind moves that did not have to', () => {
    fc.assert(
      fc.property(nodes, binds, (candidates, keys) => {
        const all = keys.map(free);
        round(candidates, all);
        const more = [...candidates, 'new-node'];
        const moved = round(more, all);
        round(more, all);
        expect(moved).toBeLessThanOrEqual(Math.ceil(keys.length / more.length));
        const shares = counts(more, all);
        expect(Math.max(...shares) - Math.min(...shares)).toBeLessThanOrEqual(1);
        expect(round(more, all)).toBe(0);
      }),
    );
  });

  test('a node that leaves releases its binds to the others, and theirs stay where they are', () => {
    fc.assert(
      fc.property(nodes, binds, (some, keys) => {
        const candidates = [...some, 'last-node'];
        const all = keys.map(free);
        round(candidates, all);
        const [gone, ...left] = candidates as [string, ...string[]];
        const stayed = new Map(all.filter(({ holder }) => holder !== gone).map(({ key, holder }) => [key, holder]));
        for (const [at, bind] of all.entries()) if (bind.holder === gone) all[at] = { ...bind, holder: null };
        round(left, all);
        for (const { key, holder } of all) if (stayed.has(key)) expect(holder).toBe(stayed.get(key));
        const shares = counts(left, all);
        expect(Math.max(...shares) - Math.min(...shares)).toBeLessThanOrEqual(1);
      }),
    );
  });

  test('a bind that is free for longer than the grace goes to any node', () => {
    const [first, second] = ['a', 'b'].sort((me) =>
      assignBinds({ salt, me, candidates: ['a', 'b'], binds: [free('1')], leaving: new Set(), graceMs }).claim
        .length === 1
        ? -1
        : 1,
    ) as [string, string];
    const ask = (me: string, freeForMs: number) =>
      assignBinds({
        salt,
        me,
        candidates: ['a', 'b'],
        binds: [{ key: '1', holder: null, freeForMs }],
        leaving: new Set(),
        graceMs,
      }).claim;
    expect(ask(first, 0)).toEqual(['1']);
    expect(ask(second, graceMs)).toEqual([]);
    expect(ask(second, graceMs + 1)).toEqual(['1']);
  });

  test('a bind that is being released is not released twice', () => {
    const held = ['1', '2', '3', '4'].map((key) => ({ key, holder: 'a', freeForMs: 0 }));
    const ask = (leaving: string[]) =>
      assignBinds({ salt, me: 'a', candidates: ['a', 'b'], binds: held, leaving: new Set(leaving), graceMs }).release;
    expect(ask([])).toEqual(['3', '4']);
    expect(ask(['3'])).toEqual(['4']);
    expect(ask(['3', '4'])).toEqual([]);
  });

  test('a node that cannot take one neither gets nor gives', () => {
    const held = ['1', '2', '3'].map((key) => ({ key, holder: 'a', freeForMs: 0 }));
    const assignment = assignBinds({ salt, me: 'c', candidates: ['a', 'b'], binds: held, leaving: new Set(), graceMs });
    expect(assignment).toEqual({ claim: [], release: [] });
  });
});

describe('the contract', () => {
  test('the shares of all binds add up to the whole segments of the contract, and differ by one at most', () => {
    fc.assert(
      fc.property(fc.integer({ min: 1, max: 60 }), fc.double({ min: 0.05, max: 9_000, noNaN: true }), (many, tps) => {
        const shares = Array.from({ length: many }, (_, index) => shareOfBind(index, many, tps));
        const sum = shares.reduce((total, share) => total + share, 0);
        expect(sum).toBe(tps < 1 ? tps : Math.floor(tps));
        if (tps >= 1) expect(Math.max(...shares) - Math.min(...shares)).toBeLessThanOrEqual(1);
      }),
    );
  });

  test('for every distribution, all nodes together stay within the contract; one that has all binds has all of it', () => {
    fc.assert(
      fc.property(
        fc.array(fc.integer({ min: 0, max: 3 }), { minLength: 1, maxLength: 20 }),
        fc.integer({ min: 1, max: 5_000 }),
        (owners, tps) => {
          const indexes = [...owners.keys()];
          const perNode = [0, 1, 2, 3].map((node) => indexes.filter((index) => owners[index] === node));
          const sum = perNode.reduce((total, held) => total + shareOf(held, owners.length, tps), 0);
          expect(sum).toBeLessThanOrEqual(tps);
          expect(shareOf(indexes, owners.length, tps + 0.5)).toBe(tps + 0.5);
          expect(shareOf([], owners.length, tps)).toBe(0);
        },
      ),
    );
  });
});
