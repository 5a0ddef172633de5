// Entries of idempotency keys on shared pages, in a real bucket: writers of different keys of one page lose none of
// each other's entries, and of several writers of one key one wins.
import { afterAll, beforeAll, expect, test } from 'vitest';
import { type IdempotencyEntry, printOctets } from '../../../acceptance/idempotency/entry.ts';
import { type KeyPlace, keyPlaces } from '../../../acceptance/idempotency/key-place.ts';
import { type IdempotencyStore, idempotencyStore } from '../../../acceptance/idempotency/store.ts';
import { connectBus } from '../../../cluster/bus/connect.ts';
import { openBucket } from '../../../cluster/bus/ensure.ts';
import { Publisher } from '../../../cluster/bus/publisher.ts';
import { streamOfBucket } from '../../../cluster/bus/streams.ts';
import { assert } from '../../../platform/assert.ts';
import { systemClock } from '../../../platform/clock.ts';
import { until } from '../../support/until.ts';
import { limits } from '../../../platform/limits.ts';
import { type TestBus, startBus } from '../../support/bus.ts';

let bus: TestBus;
let stores: [IdempotencyStore, IdempotencyStore];
const publishers: Publisher[] = [];

const periods = limits.idempotency.ttlMs / limits.idempotency.periodMs;

function newStore(nowMs = () => systemClock.nowMs(), reading = bus.bus): IdempotencyStore {
  const publisher = new Publisher(bus.bus);
  publishers.push(publisher);
  return idempotencyStore(bus.bus, publisher, { ...systemClock, nowMs }, reading);
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

/** Keys of one page: hashes of different keys on a given page. */
function onOnePage(page: string, count: number): KeyPlace[] {
  return Array.from({ length: count }, (_, n) => ({ ...placeOf('acc', true, page, String(n)), page }));
}

test('writers of 40 keys of one page, in two processes at once, lose none of each other’s entries', async () => {
  const places = onOnePage('test1', 40);
  // In groups, as many as may meet on one page in reality.
  for (let at = 0; at < places.length; at += 4) {
    const results = await Promise.all(
      places.slice(at, at + 4).map((place, nth) => (stores[nth % 2] as IdempotencyStore).add(place, running)),
    );
    expect(results.map(({ ok }) => ok)).toEqual([true, true, true, true]);
  }
  const found = await Promise.all(places.map((place) => stores[0].read(place)));
  expect(found.map((each) => each?.entry.state)).toEqual(places.map(() => 'running'));
  const { state } = await bus.bus.manager.streams.info(streamOfBucket('idempotency'), { subjects_filter: '>' });
  expect(Object.keys(state.subjects ?? {}).filter((subject) => subject.endsWith('.test1'))).toHaveLength(1);
});

test('of many writers of one key one wins, and the others read its entry', async () => {
  const [place] = onOnePage('test2', 1) as [KeyPlace];
  const results = await Promise.all(
    Array.from({ length: 10 }, (_, nth) => (stores[nth % 2] as IdempotencyStore).add(place, running)),
  );
  expect(results.filter(({ ok }) => ok)).toHaveLength(1);
  for (const result of results) {
    if (result.ok) continue;
    expect(result).toMatchObject({ failure: 'conflict', found: { entry: { state: 'running' } } });
  }
});

test('only the holder of the last stamp may write or remove; after a removal the key is free', async () => {
  const [place] = onOnePage('test3', 1) as [KeyPlace];
  const [first, second] = stores;
  const claimed = await first.add(place, running);
  assert(claimed.ok, 'claimed');
  const answered = await second.change(place, claimed.at, done(Buffer.of(7)));
  assert(answered.ok, 'answered');
  expect(await first.change(place, claimed.at, running)).toMatchObject({ ok: false, failure: 'conflict' });
  expect(await first.change(place, claimed.at, () => null)).toMatchObject({ ok: false, failure: 'conflict' });
  expect((await first.change(place, answered.at, () => null)).ok).toBe(true);
  expect(await second.read(place)).toBeNull();
  expect((await second.add(place, running)).ok).toBe(true);
});

test('an entry expires after a day: its key is free', async () => {
  const [old] = onOnePage('test4', 1) as [KeyPlace];
  expect((await stores[0].add(old, done(Buffer.of(1)))).ok).toBe(true);
  const before = newStore(() => systemClock.nowMs() + limits.idempotency.ttlMs - 10_000);
  expect((await before.read(old))?.entry.state).toBe('done');
  const after = newStore(() => systemClock.nowMs() + limits.idempotency.ttlMs + 1_000);
  expect(await after.read(old)).toBeNull();
  expect((await after.add(old, running)).ok).toBe(true);
});

test('a key of the previous period is found in the next one, and answered there from the archive', async () => {
  const [place, other] = onOnePage('test6', 2) as [KeyPlace, KeyPlace];
  const claimed = await stores[0].add(place, running);
  assert(claimed.ok, 'claimed');
  const later = newStore(() => systemClock.nowMs() + limits.idempotency.periodMs);
  expect(await later.add(place, running)).toMatchObject({ ok: false, failure: 'conflict' });
  const added = await later.add(other, running);
  assert(added.ok, 'added');
  expect(added.at.period).toBe(claimed.at.period + 1);
  const answered = await stores[0].change(place, claimed.at, done(Buffer.of(7)));
  expect(answered.ok).toBe(true);
  for (const store of [later, stores[1]]) {
    expect((await store.read(place))?.entry).toMatchObject({ state: 'done', answer: Buffer.of(7) });
    expect(await store.add(place, running)).toMatchObject({ ok: false, failure: 'conflict' });
  }
});

test('while pages turn and are written at once, no key is lost and none is added twice', async () => {
  let shift = 0;
  const turning = Array.from({ length: 3 }, (_, nth) =>
    newStore(() => systemClock.nowMs() + (shift + (nth === 0 ? 1 : 0)) * limits.idempotency.periodMs),
  );
  const answering = turning[2] as IdempotencyStore;
  const places = onOnePage('test9', 60);
  for (let at = 0; at < places.length; at += 6, shift += 1) {
    const group = places.slice(at, at + 6);
    const results = await Promise.all(
      group.flatMap((place) => turning.slice(0, 2).map((store) => store.add(place, running))),
    );
    expect(results.filter(({ ok }) => ok)).toHaveLength(group.length);
    const answered = results.flatMap((result, nth) =>
      result.ok ? [answering.change(group[nth >> 1] as KeyPlace, result.at, done(Buffer.of(nth)))] : [],
    );
    const seen = await Promise.all(answered);
    expect(seen.map((each) => each.ok)).toEqual(group.map(() => true));
  }
  const found = await Promise.all(places.map((place) => answering.read(place)));
  expect(found.map((each) => each?.entry.state)).toEqual(places.map(() => 'done'));
});

test('of writers of one key whose clocks are hours apart one wins, whichever page each would take', async () => {
  const ahead = [0, 1, 1, 2, 5, -1, -3].map((count) =>
    newStore(() => systemClock.nowMs() + count * limits.idempotency.periodMs),
  );
  for (const place of onOnePage('test7', 12).map((each, nth) => ({ ...each, page: `test7-${nth % 4}` }))) {
    const results = await Promise.all(ahead.map((store) => store.add(place, running)));
    expect(results.filter(({ ok }) => ok)).toHaveLength(1);
    const found = await Promise.all(ahead.map((store) => store.read(place)));
    expect(new Set(found.map((each) => each?.stamp)).size).toBe(1);
  }
});

test('cached pages are not read again: a new key costs one read, also beside a day of keys', async () => {
  const places = onOnePage('test8', periods + 1) as [KeyPlace, ...KeyPlace[]];
  const [last, ...kept] = places;
  for (const [nth, place] of kept.entries()) {
    const then = newStore(() => systemClock.nowMs() + (nth - periods) * limits.idempotency.periodMs);
    expect((await then.add(place, running)).ok).toBe(true);
  }
  const reading = await connectBus(bus.nats.url, 'reading');
  const store = newStore(() => systemClock.nowMs(), reading);
  const ahead = store.readAhead();
  // Another reader waits for it meanwhile.
  expect((await store.read(kept[0] as KeyPlace))?.entry.state).toBe('running');
  await ahead;
  const asked = () => reading.connection.stats().outMsgs;
  const before = asked();
  expect(await store.read(last)).toBeNull();
  expect(asked() - before).toBe(1);
  for (const place of kept) expect((await store.read(place))?.entry.state).toBe('running');
  await reading.close();
});

test('while nats-server restarts on its data, claims wait for it and none fails', async () => {
  const places = Array.from({ length: 200 }, (_, n) => placeOf('acc', true, 'restart', String(n)));
  const filled = await Promise.all(places.slice(0, 100).map((place) => stores[0].add(place, done(Buffer.of(1)))));
  expect(filled.every(({ ok }) => ok)).toBe(true);
  const restarted = bus.nats.restart();
  await until('it is away', () => !bus.bus.connected(), { everyMs: 1 });
  const claims = Promise.all(places.slice(100).map((place) => stores[0].add(place, running)));
  const found = Promise.all(places.slice(0, 100).map((place) => stores[1].read(place)));
  await restarted;
  expect((await claims).filter(({ ok }) => !ok)).toEqual([]);
  expect((await found).map((each) => each?.entry.state)).toEqual(places.slice(0, 100).map(() => 'done'));
});

test('an answer too long for a page is stored separately', async () => {
  const [place] = onOnePage('test5', 1) as [KeyPlace];
  const answer = Buffer.alloc(50_000, 3);
  expect(await stores[0].readAnswer(place)).toBeNull();
  expect(await stores[0].keepAnswer(place, answer)).toBe(true);
  expect((await stores[1].readAnswer(place))?.equals(answer)).toBe(true);
});
