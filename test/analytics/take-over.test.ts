// Two recorders, and a recorder without its progress: the counts stay exact.
import { afterEach, beforeEach, expect, test } from 'vitest';
import { type Recorder, startRecorder } from '../../analytics/recorder/recorder.ts';
import { expectExactCounts } from '../support/recount.ts';
import { openBucket } from '../../cluster/bus/ensure.ts';
import { Publisher } from '../../cluster/bus/publisher.ts';
import type { Engine } from '../../analytics/store/engine.ts';
import { systemClock } from '../../platform/clock.ts';
import { limits } from '../../platform/limits.ts';
import { patienceMs, until } from '../support/until.ts';
import { type EventStore, startEventStore } from './support/event-store.ts';
import { contextOf, lifeOf } from './support/events.ts';

let events: EventStore;
let publisher: Publisher;
let recorders: Recorder[] = [];

beforeEach(async () => {
  events = await startEventStore();
  publisher = new Publisher(events.bus);
});

afterEach(async () => {
  await Promise.all(recorders.map((each) => each.stop(5_000)));
  recorders = [];
  publisher.close();
  await events.stop();
});

async function start(options: Partial<Parameters<typeof startRecorder>[0]> = {}): Promise<Recorder> {
  const recorder = await startRecorder({ bus: events.bus, engine: events.engine, publisher, ...options });
  recorders.push(recorder);
  return recorder;
}

async function counts(): Promise<unknown> {
  const { state } = await events.bus.manager.streams.info('EVENTS');
  await until('all recorded', () => recorders.some((each) => each.recordedTo >= state.last_seq));
  const [rows] = await events.engine.rows('SELECT toUInt32(count()), toUInt32(uniqExact(event_id)) FROM sms_events');
  const { delivered } = await expectExactCounts((sql) => events.engine.rows(sql, {}, patienceMs));
  return [...(rows ?? []), delivered];
}

test('of two recorders the one that started last continues; the other is fenced and counts nothing more', async () => {
  const first = await start();
  await events.publish(lifeOf(contextOf()));
  const second = await start();
  for (let each = 0; each < 20; each += 1) await events.publish(lifeOf(contextOf()));
  expect(await counts()).toEqual([63, 63, 21]);
  await events.publish(lifeOf(contextOf()));
  expect(await first.ended).toBe('fenced');
  expect(await counts()).toEqual([66, 66, 22]);
  expect(second.recordedTo).toBe(22);
});

test('one that stood still between its announcement and its insert asks first, and inserts nothing under a token that may be forgotten', async () => {
  let aheadMs = 0;
  const clock = { ...systemClock, monotonicMs: () => systemClock.monotonicMs() + aheadMs };
  const stoodStill = Promise.withResolvers<void>();
  let inserts = 0;
  const engine: Engine = {
    ...events.engine,
    async insertBlock() {
      inserts += 1;
      await stoodStill.promise;
      throw new Error('the connection was closed meanwhile');
    },
  };
  const first = await start({ engine, clock });
  await events.publish(lifeOf(contextOf()));
  await until('it inserts', () => inserts === 1);
  await start();
  expect(await counts()).toEqual([3, 3, 1]);
  aheadMs = limits.recorder.confirmAfterMs;
  stoodStill.resolve();
  expect(await first.ended).toBe('fenced');
  expect(inserts).toBe(1);
});

test('a recorder that finds no progress reads everything again and counts nothing twice', async () => {
  const first = await start();
  for (let each = 0; each < 20; each += 1) await events.publish(lifeOf(contextOf()));
  expect(await counts()).toEqual([60, 60, 20]);
  await first.stop(5_000);
  recorders = [];
  await (await openBucket(events.bus, 'recorder')).purge('events');
  await start();
  await events.publish(lifeOf(contextOf()));
  expect(await counts()).toEqual([63, 63, 21]);
});

test('after a stop nothing is pending and the next recorder repeats nothing', async () => {
  const first = await start();
  await events.publish(lifeOf(contextOf()));
  await until('it was taken', () => [...first.unflushed()].length > 0);
  await first.stop(5_000);
  expect(await first.ended).toBe('stopped');
  const record = (await (await openBucket(events.bus, 'recorder')).get('events'))?.json<object>();
  expect(record).toMatchObject({ recordedTo: 1, pending: null });
});
