// Real nats-server, the real role in a process of its own, and exact counts.
import { afterEach, beforeEach, expect, test } from 'vitest';
import { systemClock } from '../../platform/clock.ts';
import { seededRandom } from '../../platform/random.ts';
import { expectExactCounts } from '../support/recount.ts';
import { type EventBus, startEventBus } from './support/event-bus.ts';
import { contextOf, lifeOf } from './support/events.ts';
import { type RunningRole, askStore, startRole } from './support/role.ts';

let events: EventBus;
let role: RunningRole | null = null;

beforeEach(async () => {
  events = await startEventBus();
});

afterEach(async () => {
  await role?.end('SIGKILL');
  role = null;
  await events.stop();
});

/** Rows, different ids, and the messages that reports count as delivered, once the role has drained. */
async function counts(): Promise<{ rows: number; ids: number; delivered: number; submits: number }> {
  await events.taken();
  await role?.end('SIGTERM');
  const [rows] = await askStore(events.dataDir, 'SELECT count(), uniqExact(event_id) FROM sms_events');
  const [submits] = await askStore(events.dataDir, 'SELECT count() FROM sms_submits');
  return {
    rows: Number(rows?.[0]),
    ids: Number(rows?.[1]),
    delivered: (await expectExactCounts((sql) => askStore(events.dataDir, sql)))['delivered'] ?? 0,
    submits: Number(submits?.[0]),
  };
}

test('every event is one row, however often and in whatever order it was published', async () => {
  role = await startRole(events.nats.url, events.dataDir);
  for (let each = 0; each < 50; each += 1) {
    const life = lifeOf(contextOf());
    await events.publish(life);
    await events.publish(life.toReversed());
  }
  expect(await counts()).toEqual({ rows: 150, ids: 150, delivered: 50, submits: 50 });
});

test('an unreadable record is moved to DEAD and the others are counted', async () => {
  role = await startRole(events.nats.url, events.dataDir);
  await events.publish(lifeOf(contextOf()));
  await events.publishOctets(Buffer.from('not a batch of events'));
  // Readable, but no row: one such among the others would fail every insert it is in.
  const [accepted, intent, submitted, delivered] = lifeOf(contextOf());
  await events.publish([accepted!, intent!, { ...submitted!, atMs: Number.NaN }, delivered!]);
  await events.publish(lifeOf(contextOf()));
  expect(await counts()).toEqual({ rows: 8, ids: 8, delivered: 3, submits: 2 });
  const { state } = await events.bus.manager.streams.info('DEAD');
  expect(state.messages).toBe(2);
});

test('events of more days than an insert may have parts for are recorded all the same', async () => {
  role = await startRole(events.nats.url, events.dataDir);
  const nowMs = systemClock.nowMs();
  const lives = Array.from({ length: 110 }, (_, day) =>
    lifeOf(contextOf()).map((event) => ({ ...event, atMs: nowMs - day * 86_400_000 })),
  );
  await events.publish(lives.flat());
  expect(await counts()).toMatchObject({ rows: 330, ids: 330, delivered: 110 });
});

test('killed or aborted in the middle of the load, again and again, it counts every event once', async () => {
  const random = seededRandom(7);
  let messages = 0;
  const loadFor = async (ms: number) => {
    for (const endAt = systemClock.monotonicMs() + ms; systemClock.monotonicMs() < endAt; ) {
      const lives = Array.from({ length: 60 }, () => lifeOf(contextOf()));
      await events.publish(lives.flat());
      if (random.unit() < 0.3) await events.publish(lives.flat());
      messages += lives.length;
    }
  };
  role = await startRole(events.nats.url, events.dataDir);
  for (let kill = 0; kill < 5; kill += 1) {
    await loadFor(300 + random.unit() * 1_500);
    await role.end(kill % 2 === 0 ? 'SIGKILL' : 'SIGABRT');
    [role] = await Promise.all([startRole(events.nats.url, events.dataDir), loadFor(300)]);
  }
  expect(await counts()).toEqual({ rows: messages * 3, ids: messages * 3, delivered: messages, submits: messages });
});

test('nats-server killed and restarted under load loses and doubles nothing', async () => {
  role = await startRole(events.nats.url, events.dataDir);
  let messages = 0;
  for (let round = 0; round < 3; round += 1) {
    for (let each = 0; each < 30; each += 1) {
      await events.publish(Array.from({ length: 20 }, () => lifeOf(contextOf())).flat());
      messages += 20;
    }
    await events.nats.kill9();
    await events.nats.restart();
  }
  await events.publish(lifeOf(contextOf()));
  expect(await counts()).toEqual({
    rows: messages * 3 + 3,
    ids: messages * 3 + 3,
    delivered: messages + 1,
    submits: messages + 1,
  });
});
