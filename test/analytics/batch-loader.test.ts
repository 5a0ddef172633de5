// Queries that are loaded together: during a statement, and while they are gathered before one.
import { expect, test } from 'vitest';
import { batchLoader } from '../../analytics/queries/batch-loader.ts';
import { nextTurn } from '../../platform/clock.ts';
import { RetryLater } from '../../platform/errors.ts';
import { limits } from '../../platform/limits.ts';
import { ManualClock } from '../support/manual-clock.ts';

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

test('a query that waited too long is refused without a statement, and later ones are answered in time', async () => {
  const clock = new ManualClock();
  const { statementWaitMsMax } = limits.queries;
  const statements: { readonly queries: readonly number[]; readonly end: () => void }[] = [];
  const read = (queries: readonly number[]) =>
    new Promise<readonly number[]>((resolve) => {
      statements.push({ queries, end: () => resolve(queries) });
    });
  const load = batchLoader<number, number>(2, read, null, clock);
  const answers = Promise.allSettled([1, 2, 3, 4].map(load));
  clock.advance(1);
  const later = [5, 6, 7].map(load);
  clock.advance(statementWaitMsMax - 1);
  // 2 to 4 have waited for all of the time now, and 5 to 7 for one millisecond less.
  statements[0]?.end();
  await nextTurn();
  statements[1]?.end();
  await nextTurn();
  statements[2]?.end();
  expect(await Promise.all(later)).toEqual([5, 6, 7]);
  expect(statements.map(({ queries }) => queries)).toEqual([[1], [5, 6], [7]]);
  const refused = { status: 'rejected', reason: expect.any(RetryLater) as unknown };
  expect(await answers).toEqual([{ status: 'fulfilled', value: 1 }, refused, refused, refused]);
});
