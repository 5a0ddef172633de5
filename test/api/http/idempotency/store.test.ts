// Entries of idempotency keys on shared pages, in a real bucket: writers of different keys of one page lose nothing of each
// other, and of several writers of one key one wins.
import { afterAll, beforeAll, expect, test } from 'vitest';
import { type IdempotencyEntry, printOctets } from '../../../../api/http/idempotency/entry.ts';
import { type KeyPlace, keyPlaces } from '../../../../api/http/idempotency/key-place.ts';
import { type IdempotencyStore, idempotencyStore } from '../../../../api/http/idempotency/store.ts';
import { openBucket } from '../../../../cluster/bus/ensure.ts';
import { Publisher } from '../../../../cluster/bus/publisher.ts';
import { streamOfBucket } from '../../../../cluster/bus/streams.ts';
import { systemClock } from '../../../../platform/clock.ts';
import { limits } from '../../../../platform/limits.ts';
import { type TestBus, startBus } from '../../../support/bus.ts';

let bus: TestBus;
let stores: [IdempotencyStore, IdempotencyStore];
const publishers: Publisher[] = [];

function newStore(nowMs = () => systemClock.nowMs()): IdempotencyStore {
  const publisher = new Publisher(bus.bus);
  publishers.push(publisher);
  return idempotencyStore(bus.bus, publisher, { ...systemClock, nowMs });
}

beforeAll(async () => {
  bus = await startBus('test');
  await openBucket(bus.bus, 'idempotency');
  stores = [newStore(), newStore()];
});
afterAll(async () => {
  for (const each of publishers) each.close();
  await bus.stop();
});

const placeOf = keyPlaces(Buffer.alloc(32, 5));
const bodyPrint = Buffer.alloc(printOctets, 9);
const running = (): IdempotencyEntry => ({
  bodyPrint,
  createdAtMs: systemClock.nowMs(),
  state: 'running',
  leaseUntilMs: systemClock.nowMs() + 10_000,
});
const done = (answer: Buffer) => (): IdempotencyEntry => ({
  bodyPrint,
  createdAtMs: systemClock.nowMs(),
  state: 'done',
  answer,
});

/** Keys of one page: hashes of different keys, and a page that was chosen. */
function onOnePage(page: string, count: number): KeyPlace[] {
  return Array.from({ length: count }, (_, n) => ({ ...placeOf('acc', true, page, String(n)), page }));
}

test('writers of 40 keys of one page, in two processes at once, lose nothing of each other', async () => {
  const places = onOnePage('p.test1', 40);
  // In groups, as many as may really meet on one page.
  for (let at = 0; at < places.length; at += 4) {
    const results = await Promise.all(
      places.slice(at, at + 4).map((place, nth) => (stores[nth % 2] as IdempotencyStore).write(place, running, 0)),
    );
    expect(results.map(({ ok }) => ok)).toEqual([true, true, true, true]);
  }
  const found = await Promise.all(places.map((place) => stores[0].read(place)));
  expect(found.map((each) => each?.entry.state)).toEqual(places.map(() => 'running'));
  const { state } = await bus.bus.manager.streams.info(streamOfBucket('idempotency'), { subjects_filter: '>' });
  expect(Object.keys(state.subjects ?? {}).filter((subject) => subject.endsWith('p.test1'))).toHaveLength(1);
});

test('of many writers of one key one wins, and the others see what it wrote', async () => {
  const [place] = onOnePage('p.test2', 1) as [KeyPlace];
  const results = await Promise.all(
    Array.from({ length: 10 }, (_, nth) => (stores[nth % 2] as IdempotencyStore).write(place, running, 0)),
  );
  expect(results.filter(({ ok }) => ok)).toHaveLength(1);
  for (const result of results) {
    if (result.ok) continue;
    expect(result).toMatchObject({ failure: 'conflict', found: { entry: { state: 'running' } } });
  }
});

test('only who holds the last stamp may write or remove; after a removal the key is free', async () => {
  const [place] = onOnePage('p.test3', 1) as [KeyPlace];
  const first = await stores[0].write(place, running, 0);
  const stamp = first.ok ? first.stamp : 0;
  const second = await stores[1].write(place, done(Buffer.of(7)), stamp);
  expect(second.ok).toBe(true);
  expect(await stores[0].write(place, running, stamp)).toMatchObject({ ok: false, failure: 'conflict' });
  expect(await stores[0].write(place, () => null, stamp)).toMatchObject({ ok: false, failure: 'conflict' });
  expect((await stores[0].write(place, () => null, second.ok ? second.stamp : 0)).ok).toBe(true);
  expect(await stores[1].read(place)).toBeNull();
  expect((await stores[1].write(place, running, 0)).ok).toBe(true);
});

test('an entry is over after a day: its key is free, and the next write of its page leaves it out', async () => {
  const [old, young] = onOnePage('p.test4', 2) as [KeyPlace, KeyPlace];
  expect((await stores[0].write(old, done(Buffer.of(1)), 0)).ok).toBe(true);
  const tomorrow = newStore(() => systemClock.nowMs() + limits.idempotency.ttlMs + 1_000);
  expect(await tomorrow.read(old)).toBeNull();
  expect((await tomorrow.write(young, running, 0)).ok).toBe(true);
  expect(await stores[0].read(old)).toBeNull();
});

test('an answer too long for a page is kept apart', async () => {
  const [place] = onOnePage('p.test5', 1) as [KeyPlace];
  const answer = Buffer.alloc(50_000, 3);
  expect(await stores[0].readAnswer(place)).toBeNull();
  expect(await stores[0].keepAnswer(place, answer)).toBe(true);
  expect((await stores[1].readAnswer(place))?.equals(answer)).toBe(true);
});
