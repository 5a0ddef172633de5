// A waiting stream and its releaser on a real nats-server: not early, within a second of due, once, and also what
// became due during a downtime.
import { afterAll, afterEach, beforeAll, expect, test } from 'vitest';
import { lostTime } from '../../support/lost-time.ts';
import { LaterReleaser } from '../../../actors/later/releaser.ts';
import { publishLater } from '../../../cluster/bus/later.ts';
import { Publisher } from '../../../cluster/bus/publisher.ts';
import { waitSubject } from '../../../cluster/bus/subjects.ts';
import { systemClock } from '../../../platform/clock.ts';
import { until } from '../../support/until.ts';
import { limits } from '../../../platform/limits.ts';
import { type TestBus, startBus } from '../../support/bus.ts';

let test_: TestBus;
let publisher: Publisher;
let sourceCount = 0;
const releasers: LaterReleaser[] = [];
beforeAll(async () => {
  test_ = await startBus();
  publisher = new Publisher(test_.bus, { deadlineMs: Number.POSITIVE_INFINITY });
});
afterEach(async () => {
  for (const each of releasers.splice(0)) await each.stop();
});
afterAll(async () => {
  publisher.close();
  await test_.stop();
});

async function startReleaser(): Promise<LaterReleaser> {
  const releaser = new LaterReleaser(test_.bus, publisher, { kind: 'later' });
  await releaser.start();
  releasers.push(releaser);
  return releaser;
}
/** Subscribes to the subject of the releases; returns what arrived and when. */
function target(): { subject: string; came: { id: string; atMs: number }[] } {
  sourceCount += 1;
  const subject = `mt.txn.later${sourceCount}.0`;
  const came: { id: string; atMs: number }[] = [];
  test_.bus.connection.subscribe(subject, {
    callback: (_error, msg) => void came.push({ id: msg.string(), atMs: systemClock.nowMs() }),
  });
  return { subject, came };
}
function wait(subject: string, id: string, dueAtMs: number, nowMs = systemClock.nowMs()): Promise<boolean> {
  return new Promise((resolve) =>
    publishLater(
      publisher,
      { subject, payload: Buffer.from(id), dueAtMs, id: `${subject}.${id}`, shardKey: id },
      nowMs,
      (result) => resolve(result.ok),
    ),
  );
}
const emptied = () =>
  until('LATER is empty', async () => (await test_.bus.manager.streams.info('LATER')).state.messages === 0);

test('a record is released not before its time and within a second of it', async () => {
  await startReleaser();
  const lost = lostTime(test_.bus);
  const { subject, came } = target();
  const due = new Map<string, number>();
  for (let count = 0; count < 40; count += 1) due.set(`r${count}`, systemClock.nowMs() + count * 60);
  for (const [id, dueAtMs] of due) expect(await wait(subject, id, dueAtMs)).toBe(true);
  await until('all released', () => came.length === due.size);
  for (const { id, atMs } of came) {
    expect(atMs - due.get(id)!).toBeGreaterThanOrEqual(-2);
    expect(atMs - due.get(id)!).toBeLessThan(1_000 + lost.lostMs());
  }
  await lost.stop();
  await emptied();
  expect(came).toHaveLength(due.size);
});

test('what became due during a downtime is released at the start, hours later too', async () => {
  const { subject, came } = target();
  const nowMs = systemClock.nowMs();
  // More overdue seconds than are opened at once, over several hours.
  const overdue = Array.from({ length: 100 }, (_, index) => nowMs - 60_000 - index * 180_000);
  for (const [index, dueAtMs] of overdue.entries())
    expect(await wait(subject, `o${index}`, dueAtMs, dueAtMs)).toBe(true);
  await startReleaser();
  await until('all released', () => came.length >= overdue.length);
  await emptied();
  expect(new Set(came.map((each) => each.id)).size).toBe(came.length);
});

test('two releasers share the work and nothing is released twice, also when one is restarted on the way', async () => {
  await startReleaser();
  const second = await startReleaser();
  const { subject, came } = target();
  const nowMs = systemClock.nowMs();
  const ids = Array.from({ length: 400 }, (_, index) => `d${index}`);
  await Promise.all(ids.map((id, index) => wait(subject, id, nowMs + 300 + (index % 20) * 100)));
  await until('some released', () => came.length > 50);
  await second.stop();
  await startReleaser();
  await until('all released', () => new Set(came.map((each) => each.id)).size === ids.length);
  await emptied();
  const records = await test_.bus.manager.streams.info('MT_TXN', { subjects_filter: subject });
  expect(records.state.subjects?.[subject]).toBe(ids.length);
});

test('a second with 5,000 records is released without returning any of them', async () => {
  await startReleaser();
  const lost = lostTime(test_.bus);
  const { subject, came } = target();
  const count = 5_000;
  const dueAtMs = (Math.floor(systemClock.nowMs() / 1_000) + 12) * 1_000;
  let next = 0;
  const safe = await Promise.all(
    Array.from({ length: 500 }, async () => {
      for (let ok = true; next < count && ok; ) ok = await wait(subject, `f${next++}`, dueAtMs);
      return true;
    }),
  );
  expect(safe.every(Boolean)).toBe(true);
  expect(systemClock.nowMs()).toBeLessThan(dueAtMs);
  await until('all released', () => came.length >= count);
  expect(Math.min(...came.map((each) => each.atMs))).toBeGreaterThanOrEqual(dueAtMs - 2);
  const lateMs = came.map((each) => each.atMs - dueAtMs).sort((one, other) => one - other);
  // The consumer takes up to one check to open, then 5,000 publishes: half of them well within the second, and on a
  // busy machine all of them within two.
  expect(lateMs[count / 2]).toBeLessThan(1_000 + lost.lostMs());
  expect(lateMs[count - 1]).toBeLessThan(2_000 + lost.lostMs());
  await lost.stop();
  await emptied();
  expect(came).toHaveLength(count);
});

test('a record without its headers goes to DEAD', async () => {
  await startReleaser();
  const before = (await test_.bus.manager.streams.info('DEAD')).state.messages;
  await publisher.publishOne(waitSubject('later', systemClock.nowMs(), 'x'), Buffer.from('?'), null);
  await until(
    'it is in DEAD',
    async () => (await test_.bus.manager.streams.info('DEAD')).state.messages === before + 1,
  );
  await emptied();
});

test('a record due further ahead than the releaser looks back is refused as a bug', async () => {
  const dayMs = 86_400_000;
  const nowMs = systemClock.nowMs();
  const furthest = nowMs + limits.bus.laterDaysMax * dayMs;
  await expect(wait('mt.txn.far.0', 'far', furthest, nowMs)).rejects.toThrow('never be released');
  expect(await wait('mt.txn.far.0', 'near', furthest - 1, nowMs)).toBe(true);
});

test('each kind waits in a stream of its own: one that is full refuses, and the others accept and release', async () => {
  const nowMs = systemClock.nowMs();
  const { subject, came } = target();
  const hoursMs = 3 * 3_600_000;
  const put = (id: string, dueAtMs: number, cancelable?: string) =>
    new Promise<string>((resolve) => {
      const record = { subject, payload: Buffer.from(id), dueAtMs, id: `${subject}.${id}`, shardKey: id };
      publishLater(publisher, cancelable === undefined ? record : { ...record, cancelable }, nowMs, (result) =>
        resolve(result.ok ? 'ok' : result.failure),
      );
    });
  const config = async (name: string) => (await test_.bus.manager.streams.info(name)).config;
  const full = ['SCHEDULED', 'HOLDS'];
  const before = await Promise.all(full.map(config));
  try {
    for (const each of before) await test_.bus.manager.streams.update(each.name, { ...each, max_bytes: 1 });
    expect(await put('scheduled', nowMs + hoursMs, 'sms_1')).toBe('full');
    expect(await put('held', nowMs + hoursMs)).toBe('full');
    await startReleaser();
    expect(await put('put off', nowMs + 500)).toBe('ok');
    await until('it is released', () => came.length === 1);
  } finally {
    for (const each of before) await test_.bus.manager.streams.update(each.name, each);
  }
  expect(await put('scheduled', nowMs + hoursMs, 'sms_1')).toBe('ok');
  expect(await put('held', nowMs + hoursMs)).toBe('ok');
});
