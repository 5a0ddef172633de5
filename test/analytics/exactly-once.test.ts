// Real nats-server, the real role in a process of its own, and exact counts at the far end.
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, beforeEach, expect, test } from 'vitest';
import { type Bus, connectBus } from '../../cluster/bus/connect.ts';
import { ensureStreams } from '../../cluster/bus/ensure.ts';
import { encodeEvents } from '../../cluster/bus/event-record.ts';
import { Publisher } from '../../cluster/bus/publisher.ts';
import type { DeliveryEvent } from '../../model/delivery-event.ts';
import { systemClock } from '../../platform/clock.ts';
import { until } from '../../platform/deadline.ts';
import { seededRandom } from '../../platform/random.ts';
import { type TestNats, startNats } from '../support/nats.ts';
import { contextOf, lifeOf } from './support/events.ts';
import { type RunningRole, askStore, startRole } from './support/role.ts';

let nats: TestNats;
let bus: Bus;
let publisher: Publisher;
let dataDir: string;
let role: RunningRole | null = null;

beforeEach(async () => {
  nats = await startNats();
  dataDir = mkdtempSync(join(tmpdir(), 'heliograph-analytics-'));
  bus = await connectBus(nats.url, 'test');
  await ensureStreams(bus);
  publisher = new Publisher(bus, { deadlineMs: Number.POSITIVE_INFINITY });
});

afterEach(async () => {
  await role?.end('SIGKILL');
  role = null;
  publisher.close();
  await bus.close();
  await nats.stop();
  rmSync(dataDir, { recursive: true, force: true });
});

async function tell(events: readonly DeliveryEvent[]): Promise<void> {
  const result = await publisher.publishOne('ev.sandbox.0', encodeEvents(events), null);
  expect(result.ok).toBe(true);
}

/** Resolves when the recorder has taken everything: its progress reached the end of the stream. */
async function recorded(): Promise<void> {
  await role?.end('SIGTERM');
  role = null;
}

async function counts(): Promise<{ rows: number; ids: number; hourly: number }> {
  const [events] = await askStore(dataDir, 'SELECT count(), uniqExact(event_id) FROM sms_events');
  const [hourly] = await askStore(dataDir, 'SELECT sum(events) FROM sms_events_hourly');
  return { rows: Number(events?.[0]), ids: Number(events?.[1]), hourly: Number(hourly?.[0]) };
}

test('every event is one row, however often it was told', async () => {
  role = await startRole(nats.url, dataDir);
  for (let each = 0; each < 50; each += 1) {
    const life = lifeOf(contextOf());
    await tell(life);
    await tell(life.toReversed());
  }
  await until('taken', async () => (await progressOf()) >= 100, { limitMs: 10_000 });
  await recorded();
  expect(await counts()).toEqual({ rows: 150, ids: 150, hourly: 150 });
});

test('killed in the middle of the load, again and again, it counts every event once', async () => {
  const random = seededRandom(7);
  role = await startRole(nats.url, dataDir);
  let messages = 0;
  const loadFor = async (ms: number) => {
    for (const endAt = systemClock.monotonicMs() + ms; systemClock.monotonicMs() < endAt; ) {
      const lives = Array.from({ length: 60 }, () => lifeOf(contextOf()));
      await tell(lives.flat());
      if (random.unit() < 0.3) await tell(lives.flat());
      messages += lives.length;
    }
  };
  for (let kill = 0; kill < 5; kill += 1) {
    await loadFor(300 + random.unit() * 1_500);
    await role.end(kill % 2 === 0 ? 'SIGKILL' : 'SIGABRT');
    [role] = await Promise.all([startRole(nats.url, dataDir), loadFor(300)]);
  }
  const { state } = await bus.manager.streams.info('EVENTS');
  await until('taken', async () => (await progressOf()) >= state.last_seq, { limitMs: 30_000 });
  await recorded();
  expect(await counts()).toEqual({ rows: messages * 3, ids: messages * 3, hourly: messages * 3 });
}, 90_000);

async function progressOf(): Promise<number> {
  const { Kvm } = await import('@nats-io/kv');
  const bucket = await new Kvm(bus.jetstream).open('recorder');
  const record = (await bucket.get('events'))?.json<{ recordedTo: number; pending: { last: number } | null }>();
  return record?.pending?.last ?? record?.recordedTo ?? 0;
}
