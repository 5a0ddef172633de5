// EVENTS is deleted and recreated, loses its end, or is restored from a backup under the node that records (fault 63):
// everything the recorder had read stays in ClickHouse, and everything in the present stream arrives there, once each.
import { cpSync, readdirSync, rmSync } from 'node:fs';
import { join } from 'node:path';
import { afterEach, beforeEach, describe, expect, test } from 'vitest';
import { type AnalyticsNode, startAnalytics } from '../../analytics/analytics-node.ts';
import { upToDateOver } from '../../analytics/queries/up-to-date.ts';
import { TakenPosition } from '../../analytics/recorder/taken-position.ts';
import { startPurge } from '../../analytics/purge.ts';
import { type StreamPosition, changeSince, nanosOf } from '../../cluster/bus/stream-position.ts';
import { ensureStreams } from '../../cluster/bus/ensure.ts';
import type { DeliveryEvent } from '../../model/delivery-event.ts';
import { systemClock } from '../../platform/clock.ts';
import { patienceMs, until } from '../support/until.ts';
import { limits } from '../../platform/limits.ts';
import { expectExactCounts } from '../support/recount.ts';
import { endOf } from '../support/bus.ts';
import { type EventStore, startEventStore } from './support/event-store.ts';
import { contextOf, lifeOf } from './support/events.ts';

let events: EventStore;
let node: AnalyticsNode | null = null;

beforeEach(async () => {
  events = await startEventStore();
});

afterEach(async () => {
  await node?.stop(2_000);
  node = null;
  await events.stop();
});

const start = async () => {
  node = await startAnalytics(events.bus, events.engine);
};
const stop = async () => {
  await node?.stop(2_000);
  node = null;
};

/** One record, and in it the three rows of a message; resolves with its events. */
async function publish(records: number): Promise<DeliveryEvent[]> {
  const published: DeliveryEvent[] = [];
  for (let record = 0; record < records; record += 1) {
    const life = lifeOf(contextOf());
    await events.publish(life);
    published.push(...life.filter(({ kind }) => kind !== 'intent'));
  }
  return published;
}

/** Waits until every one of these is in ClickHouse; then reads all, each id once, in the table and in the counts of reports. */
async function expectRecorded(...published: readonly DeliveryEvent[][]): Promise<void> {
  const ids = new Set(published.flat().map(({ eventId }) => eventId));
  const recorded = async () =>
    (await events.engine.rows('SELECT event_id FROM sms_events', {}, patienceMs)).map(([id]) => String(id));
  await until('everything is recorded', async () => includesAll(await recorded(), ids));
  expect((await recorded()).toSorted()).toEqual([...ids].toSorted());
  expect((await expectExactCounts((sql) => events.engine.rows(sql, {}, patienceMs)))['delivered']).toBe(ids.size / 3);
}

function includesAll(found: readonly string[], ids: ReadonlySet<string>): boolean {
  const all = new Set(found);
  return [...ids].every((id) => all.has(id));
}

async function recreate(): Promise<void> {
  await events.bus.manager.streams.delete('EVENTS');
  await ensureStreams(events.bus);
}

/** The server's folder of EVENTS, or of all streams and buckets. */
function storeOf(what: 'EVENTS' | 'all'): string {
  const { dataDir } = events.nats;
  const found = readdirSync(dataDir, { recursive: true, encoding: 'utf8' });
  const [streams = ''] = found.filter((path) => path.endsWith('/streams') && !path.includes('backup'));
  return join(dataDir, streams, what === 'all' ? '' : what);
}

/** Copies the server's files, to be restored later. */
async function backUp(what: 'EVENTS' | 'all'): Promise<void> {
  await events.nats.kill9();
  cpSync(storeOf(what), join(events.nats.dataDir, 'backup'), { recursive: true });
  await events.nats.restart();
}

async function putBack(what: 'EVENTS' | 'all'): Promise<void> {
  await events.nats.kill9();
  const store = storeOf(what);
  rmSync(store, { recursive: true });
  cpSync(join(events.nats.dataDir, 'backup'), store, { recursive: true });
  await events.nats.restart();
}

describe('EVENTS recreated', () => {
  test.each([3, 30])('under the node that records, with %d new records: old and new are there once', async (count) => {
    await start();
    const old = await publish(10);
    await expectRecorded(old);
    await recreate();
    const recreated = await publish(count);
    await expectRecorded(old, recreated);
    await recreate();
    await expectRecorded(old, recreated, await publish(1));
  });

  test('while ClickHouse accepts nothing: what is held of the old one is inserted first', async () => {
    await start();
    const old = await publish(3);
    await expectRecorded(old);
    let isAway = true;
    const { insert } = events.engine;
    Object.assign(events.engine, {
      insert: (...given: Parameters<typeof insert>) =>
        isAway ? Promise.reject(new Error('away')) : insert.apply(events.engine, given),
    });
    const held = await publish(10);
    await events.taken();
    await recreate();
    const recreated = await publish(5);
    isAway = false;
    await expectRecorded(old, held, recreated);
  });
});

describe.each(['EVENTS', 'all'] as const)('EVENTS put back from a backup (of %s)', (what) => {
  test.each([2, 30])('under the node that records, then %d new records: each is there once', async (count) => {
    await start();
    const before = await publish(10);
    await expectRecorded(before);
    await backUp(what);
    const lost = await publish(15);
    await expectRecorded(before, lost);
    await putBack(what);
    const recreated = await publish(count);
    await expectRecorded(before, lost, recreated);
    await expectRecorded(before, lost, recreated, await publish(1));
  });

  test.each([2, 30])('while no node records, then %d new records: each is there once', async (count) => {
    await start();
    const before = await publish(10);
    await expectRecorded(before);
    await backUp(what);
    const lost = await publish(15);
    await expectRecorded(before, lost);
    await stop();
    await putBack(what);
    const recreated = await publish(count);
    await start();
    await expectRecorded(before, lost, recreated, await publish(1));
  });
});

describe('the purge', () => {
  test('removes nothing of an EVENTS other than the one that is recorded', async () => {
    const place = await placeAfter(20);
    await recreate();
    await publish(30);
    expect(await purgedWith(place)).toBe(0);
    expect(await purgedWith(await placeAfter(1))).toBe(31);
  });

  test('removes nothing of one that was restored and has grown again', async () => {
    await publish(5);
    await backUp('EVENTS');
    const place = await placeAfter(10);
    await putBack('EVENTS');
    await publish(20);
    expect(await purgedWith(place)).toBe(0);
  });
});

/** The last record of EVENTS after that many more events. */
async function placeAfter(count: number): Promise<StreamPosition> {
  await publish(count);
  return endOf(events.bus, 'EVENTS');
}

/** How many records a purge removes that are old enough, recorded up to that position. */
async function purgedWith(place: StreamPosition): Promise<number> {
  let skippedMs = 0;
  const clock = { ...systemClock, monotonicMs: () => systemClock.monotonicMs() + skippedMs };
  const purge = startPurge(events.bus, () => place, clock);
  const messages = async () => (await events.bus.manager.streams.info('EVENTS')).state.messages;
  const before = await messages();
  await purge.run();
  skippedMs = limits.carrier.replayWindowMs * 2;
  await purge.run();
  purge.stop();
  return before - (await messages());
}

test('no answer is "not found" for an EVENTS that ends before what was read of it, or that is another', async () => {
  await publish(5);
  const { made } = await endOf(events.bus, 'EVENTS');
  const saysNo = async (streamMade: string, takenTo: number) => {
    const taken = new TakenPosition(takenTo, systemClock);
    const { result } = await upToDateOver(events.bus, () => ({ streamMade, taken })).surely(async () => null);
    return result === 'sure';
  };
  expect(await saysNo(made, 5)).toBe(true);
  expect(await saysNo(made, 6)).toBe(false);
  await recreate();
  expect(await saysNo(made, 5)).toBe(false);
});

describe('a position in a stream', () => {
  test('is valid while the stream grows and is purged, and not when it ends before it, or is another', async () => {
    const place = await placeAfter(5);
    const change = () => changeSince(events.bus, 'EVENTS', place);
    expect(await change()).toBeNull();
    await publish(2);
    expect(await change()).toBeNull();
    await events.bus.manager.streams.purge('EVENTS', { seq: 7 });
    expect(await change()).toBeNull();
    expect(await changeSince(events.bus, 'EVENTS', { ...place, seq: 8 })).toMatch(/ends at 7/);
    expect(await changeSince(events.bus, 'EVENTS', { ...place, seq: 7 })).toMatch(/a different one/);
    await recreate();
    expect(await change()).toMatch(/recreated/);
  });

  test('is distinguished by nanoseconds', () => {
    expect(nanosOf('2026-11-22T18:00:00.123456789Z')).toBe(
      BigInt(Date.UTC(2026, 10, 22, 18)) * 1_000_000n + 123_456_789n,
    );
    expect(nanosOf('2026-11-22T18:00:00.5Z')).toBe(BigInt(Date.UTC(2026, 10, 22, 18)) * 1_000_000n + 500_000_000n);
    expect(nanosOf('2026-11-22T18:00:00Z')).toBe(BigInt(Date.UTC(2026, 10, 22, 18)) * 1_000_000n);
  });
});
