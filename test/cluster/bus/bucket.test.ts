// Compare-and-set on one entry of a bucket, on a real server: which writer loses, what a removed entry looks like, and
// that concurrent merges lose nothing.
import type { KV } from '@nats-io/kv';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { create, merge, orConflict, readEntry, remove, replace } from '../../../cluster/bus/bucket.ts';
import { openBucket } from '../../../cluster/bus/ensure.ts';
import { type TestBus, startBus } from '../../support/bus.ts';

let server: TestBus;
let bucket: KV;

beforeAll(async () => {
  server = await startBus();
  bucket = await openBucket(server.bus, 'installation');
});
afterAll(async () => server.stop());

const revisionOf = async (key: string) => (await readEntry(bucket, key)).revision;

test('of two that create an entry one loses, and what the first wrote stays', async () => {
  const [one, other] = await Promise.all([create(bucket, 'a', '1'), create(bucket, 'a', '2')]);
  expect([one, other].filter((written) => written === 'conflict')).toHaveLength(1);
  const { entry, revision } = await readEntry(bucket, 'a');
  expect(entry?.string()).toBe(one === 'conflict' ? '2' : '1');
  expect([one, other]).toContainEqual({ revision });
});

test('a write names the revision it read, and loses to any other', async () => {
  expect(await readEntry(bucket, 'b')).toEqual({ entry: null, revision: 0 });
  expect(await replace(bucket, 'b', 'first', 0)).toEqual({ revision: await revisionOf('b') });
  const revision = await revisionOf('b');
  expect(await replace(bucket, 'b', 'late', 0)).toBe('conflict');
  expect(await replace(bucket, 'b', 'late', revision - 1)).toBe('conflict');
  expect(await replace(bucket, 'b', 'second', revision)).not.toBe('conflict');
  expect(await remove(bucket, 'b', revision)).toBe('conflict');
  expect((await readEntry(bucket, 'b')).entry?.string()).toBe('second');
});

test('a removed entry is none, and still has the revision that the next write must name', async () => {
  await create(bucket, 'c', 'x');
  const before = await revisionOf('c');
  expect(await remove(bucket, 'c', before)).toBe('ok');
  const { entry, revision } = await readEntry(bucket, 'c');
  expect(entry).toBeNull();
  expect(revision).toBeGreaterThan(before);
  expect(await replace(bucket, 'c', 'y', 0)).toBe('conflict');
  expect(await create(bucket, 'c', 'z')).not.toBe('conflict');
  expect((await readEntry(bucket, 'c')).entry?.string()).toBe('z');
});

test('an entry is not removed without a revision', () => {
  expect(() => remove(bucket, 'c', 0)).toThrow('without a revision');
});

test('concurrent merges all count', async () => {
  const add = () => merge(bucket, 'sum', (held) => String(Number(held?.string() ?? 0) + 1));
  expect(await Promise.all(Array.from({ length: 12 }, add))).toEqual(Array(12).fill('ok'));
  expect((await readEntry(bucket, 'sum')).entry?.string()).toBe('12');
});

test('a merge that changes nothing writes nothing', async () => {
  await create(bucket, 'd', 'x');
  const before = await revisionOf('d');
  expect(await merge(bucket, 'd', () => null)).toBe('ok');
  expect(await revisionOf('d')).toBe(before);
});

test('a merge that always loses ends after its tries', async () => {
  let asked = 0;
  const result = await merge(
    bucket,
    'e',
    async () => {
      asked += 1;
      await bucket.put('e', `faster ${asked}`);
      return 'late';
    },
    3,
  );
  expect([result, asked]).toEqual(['conflict', 3]);
  expect((await readEntry(bucket, 'e')).entry?.string()).toBe('faster 3');
});

test('no answer is an error and no conflict', async () => {
  await expect(orConflict(Promise.reject(new Error('no answer')))).rejects.toThrow('no answer');
});
