// Queries that are loaded together: during a statement, and while they are gathered before one.
import { expect, test } from 'vitest';
import { batchLoader } from '../../analytics/queries/batch-loader.ts';
import { nextTurn } from '../../platform/clock.ts';

function withLoader(atOnceMax: number, gather: (() => Promise<void>) | null = null) {
  const statements: number[][] = [];
  const load = batchLoader<number, number>(
    atOnceMax,
    async (queries) => {
      statements.push([...queries]);
      await nextTurn();
      return queries.map((query) => query * 2);
    },
    gather,
  );
  return { load, statements };
}

test('what arrives during a statement is answered by the next one, atOnceMax at a time', async () => {
  const { load, statements } = withLoader(2);
  expect(await Promise.all([1, 2, 3, 4].map(load))).toEqual([2, 4, 6, 8]);
  expect(statements).toEqual([[1], [2, 3], [4]]);
});

test('what arrives while queries are gathered is a part of the first statement', async () => {
  const gathered = Promise.withResolvers<void>();
  const { load, statements } = withLoader(10, () => gathered.promise);
  const first = load(1);
  await nextTurn();
  const second = load(2);
  expect(statements).toEqual([]);
  gathered.resolve();
  expect(await Promise.all([first, second])).toEqual([2, 4]);
  expect(statements).toEqual([[1, 2]]);
});

test('a statement that fails fails its queries only', async () => {
  let isFirst = true;
  const load = batchLoader<number, number>(1, (queries) => {
    if (!isFirst) return Promise.resolve(queries);
    isFirst = false;
    return Promise.reject(new Error('away'));
  });
  const both = [load(1), load(2)];
  await expect(both[0]).rejects.toThrow('away');
  expect(await both[1]).toBe(2);
});
