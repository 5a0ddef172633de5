// Publishing on a real nats-server: durable once, however the server or the connection fails, and an answer for
// every publish.
import { afterAll, afterEach, beforeAll, expect, test } from 'vitest';
import { connectBus } from '../../../cluster/bus/connect.ts';
import { type PublishResult, Publisher } from '../../../cluster/bus/publisher.ts';
import { until } from '../../support/until.ts';
import { limits } from '../../../platform/limits.ts';
import { type TestBus, recordsOf, startBus, startProxy } from '../../support/bus.ts';
import { ManualClock } from '../../support/manual-clock.ts';
import { within } from '../../support/running-clock.ts';

let test_: TestBus;
const closing: (() => unknown)[] = [];
beforeAll(async () => {
  test_ = await startBus();
});
afterAll(() => test_.stop());
afterEach(async () => {
  for (const close of closing.splice(0).reverse()) await close();
});

function publisher(options: ConstructorParameters<typeof Publisher>[1] = {}, bus = test_.bus): Publisher {
  const made = new Publisher(bus, options);
  closing.push(() => made.close());
  return made;
}
const payload = Buffer.from('payload');

test('a publish is acked with its sequence in the stream', async () => {
  const one = await publisher().publishOne('dead.acked', payload, 'a1');
  expect(one).toMatchObject({ ok: true, duplicate: false });
});

test('the same id twice is one record', async () => {
  const publishes = publisher();
  const first = await publishes.publishOne('ev.twice.0', payload, 'same');
  const second = await publishes.publishOne('ev.twice.0', payload, 'same');
  expect(second).toEqual({ ...first, duplicate: true });
  expect(await recordsOf(test_.bus, 'EVENTS', 'ev.twice.>')).toHaveLength(1);
});

test('headers travel with the record', async () => {
  await publisher().publishOne('ev.headers.0', payload, 'h1', { 'Heliograph-Reason': 'why' });
  const [record] = await recordsOf(test_.bus, 'EVENTS', 'ev.headers.>');
  expect(record?.header('Heliograph-Reason')).toBe('why');
  expect(record?.header('Nats-Msg-Id')).toBe('h1');
});

test('at the bound the answer is busy, below it there is capacity', async () => {
  const publishes = publisher({ inFlightMax: 3 });
  const results = await Promise.all([1, 2, 3, 4].map((id) => publishes.publishOne('ev.busy.0', payload, `busy${id}`)));
  expect(results.map((each) => (each.ok ? 'ok' : each.failure))).toEqual(['ok', 'ok', 'ok', 'busy']);
  expect(publishes.hasCapacity('ev.busy.0')).toBe(true);
});

test('each stream has a bound of its own: one without answers takes no capacity from another', async () => {
  const publishes = publisher({ inFlightMax: 3, clock: new ManualClock(), deadlineMs: Number.POSITIVE_INFINITY });
  // No stream has this subject, so there is no answer, as where a stream has no leader.
  const silent = Array.from({ length: 3 }, (_, id) => publishes.publishOne('nowhere.0', payload, `silent${id}`));
  expect(publishes.hasCapacity('nowhere.1')).toBe(false);
  expect(await publishes.publishOne('nowhere.1', payload, 'silent3')).toEqual({ ok: false, failure: 'busy' });
  for (let id = 0; id < 10; id += 1) {
    expect(publishes.hasCapacity('ev.own-room.0')).toBe(true);
    expect(await publishes.publishOne('ev.own-room.0', payload, `room${id}`)).toMatchObject({ ok: true });
  }
  expect(publishes.inFlight).toBe(3);
  publishes.close();
  expect(await Promise.all(silent)).toEqual(silent.map(() => ({ ok: false, failure: 'closed' })));
});

test('a duplicate without a sequence in the stream is not durable: it is sent again until it has one, or given up', async () => {
  // The answer of a leader before 2.10.20 whose followers do not have the record, word for word.
  const unstored = '{"stream":"MT_TXN", "seq":0,"duplicate": true}';
  const answers = [unstored, unstored, '{"stream":"MT_TXN", "seq":5,"duplicate": true}'];
  let asked = 0;
  const leader = test_.bus.connection.subscribe('leader.*', {
    callback: (_error, request) => {
      asked += 1;
      request.respond(request.subject === 'leader.never' ? unstored : answers.shift());
    },
  });
  closing.push(() => leader.unsubscribe());
  const publishes = publisher({ deadlineMs: 5_000 });
  expect(await publishes.publishOne('leader.late', payload, 'late')).toEqual({ ok: true, seq: 5, duplicate: true });
  expect(asked).toBe(3);
  const impatient = publisher({ deadlineMs: 400 });
  const never = await impatient.publishOne('leader.never', payload, 'never');
  expect(never).toEqual({ ok: false, failure: 'unavailable' });
});

test('a record the server would refuse is refused before it takes a place, one octet less is stored', async () => {
  const publishes = publisher({ inFlightMax: 1 });
  const most = test_.bus.connection.info?.max_payload ?? 0;
  const id = 'x';
  const headerOctets = 12 + 15 + 3;
  const room = most - headerOctets - limits.bus.deadHeaderBytesMax;
  for (const extra of [1, 1_024, most]) {
    const done = publishes.publishOne('ev.large.0', Buffer.alloc(room + extra), id);
    expect(publishes.inFlight).toBe(0);
    expect(await done).toEqual({ ok: false, failure: 'too_large' });
  }
  expect(await publishes.publishOne('ev.large.0', Buffer.alloc(room), id)).toMatchObject({ ok: true });
  // Whatever was stored fits into DEAD, with the reason and where it came from.
  const noted = { 'Heliograph-Reason': '\u20ac'.repeat(500), 'Heliograph-Subject': 'ev.large.0' };
  const dead = await publishes.publishOne('dead.EVENTS', Buffer.alloc(room), 'dead.x', noted);
  expect(dead).toMatchObject({ ok: true });
});

test('a server with a lower limit than before: what was in flight is refused, and no timer throws', async () => {
  const clock = new ManualClock();
  const publishes = publisher({ clock, timeoutMs: 100, deadlineMs: Number.POSITIVE_INFINITY });
  const done = publishes.publishOne('nowhere.large', Buffer.alloc(100_000), 'less');
  await test_.bus.connection.flush();
  const info = test_.bus.connection.info!;
  const before = info.max_payload;
  closing.push(() => (info.max_payload = before));
  info.max_payload = 64 * 1024;
  clock.advance(200);
  expect(await done).toEqual({ ok: false, failure: 'too_large' });
  expect(publishes.inFlight).toBe(0);
});

test('gathered records wait for each other and are sent in their order, at once when they are many or flushed', async () => {
  const clock = new ManualClock();
  const publishes = publisher({ gatherMs: 1, clock });
  const send = (from: number, count: number) =>
    Array.from({ length: count }, (_, at) =>
      publishes.publishOne('ev.gathered.0', Buffer.from(`${from + at}`), `gathered${from + at}`),
    );
  const stored = async () => {
    const records = await recordsOf(test_.bus, 'EVENTS', 'ev.gathered.>');
    return records.map((record) => Number(Buffer.from(record.data).toString()));
  };
  const few = send(0, 5);
  await test_.bus.connection.flush();
  expect(await stored()).toEqual([]);
  clock.advance(1);
  expect((await Promise.all(few)).every((each) => each.ok)).toBe(true);
  const flushed = send(5, 3);
  publishes.flush();
  expect((await Promise.all(flushed)).every((each) => each.ok)).toBe(true);
  expect((await Promise.all(send(8, 64))).every((each) => each.ok)).toBe(true);
  expect(await stored()).toEqual(Array.from({ length: 72 }, (_, at) => at));
});

test('it looks for what is not answered only while something is in flight', async () => {
  const clock = new ManualClock();
  const publishes = publisher({ clock, timeoutMs: 1_000 });
  expect(clock.timers).toBe(0);
  for (const id of ['first', 'second']) {
    const done = publishes.publishOne('ev.rests.0', payload, `rests-${id}`);
    expect(clock.timers).toBe(1);
    expect(await done).toMatchObject({ ok: true });
    clock.advance(50);
    expect(clock.timers).toBe(0);
  }
});

test('what a process that stood still had gathered is given up, and not sent after its deadline', async () => {
  const clock = new ManualClock();
  const publishes = publisher({ gatherMs: 1, deadlineMs: 6_000, clock });
  const late = publishes.publishOne('ev.still.0', payload, 'late');
  const { monotonicMs } = clock;
  clock.monotonicMs = () => monotonicMs.call(clock) + 6_000;
  publishes.flush();
  expect(await late).toEqual({ ok: false, failure: 'unavailable' });
  const next = publishes.publishOne('ev.still.0', payload, 'next');
  publishes.flush();
  expect(await next).toMatchObject({ ok: true });
  expect((await recordsOf(test_.bus, 'EVENTS', 'ev.still.>')).map(({ header }) => header('Nats-Msg-Id'))).toEqual([
    'next',
  ]);
});

test('a record of a message that is sent again so late that its id may be forgotten is marked, and no other record', async () => {
  const clock = new ManualClock();
  const publishes = publisher({ clock, timeoutMs: 1_000, deadlineMs: Number.POSITIVE_INFINITY });
  // No stream has these subjects, so there is no answer and each is sent again every second.
  const marks: Record<string, string[]> = { 'mt.nowhere.0': [], 'nowhere.0': [] };
  const subscriptions = Object.entries(marks).map(([subject, seen]) =>
    test_.bus.connection.subscribe(subject, {
      callback: (_error, { headers }) =>
        void seen.push(`${headers?.get('Nats-Msg-Id')} ${headers?.get('Heliograph-Again')}`),
    }),
  );
  await test_.bus.connection.flush();
  for (const subject of Object.keys(marks)) publishes.publish(subject, payload, 'm1', () => {});
  const seconds = limits.bus.duplicateWindowMs / 1_000;
  for (let second = 1; second <= seconds; second += 1) {
    clock.advance(1_000);
    await until('it is sent again', () => Object.values(marks).every((seen) => seen.length === second + 1));
  }
  const half = Math.ceil(seconds / 2);
  const plain = (count: number) => Array.from({ length: count }, () => 'm1 ');
  expect(marks['nowhere.0']).toEqual(plain(seconds + 1));
  expect(marks['mt.nowhere.0']?.slice(0, half)).toEqual(plain(half));
  expect(new Set(marks['mt.nowhere.0']?.slice(half + 1))).toEqual(new Set(['m1 1']));
  for (const each of subscriptions) each.unsubscribe();
});

test('idle resolves with the last answer, and close ends what waits', async () => {
  const publishes = publisher();
  let answered = 0;
  for (let id = 0; id < 50; id += 1) publishes.publish('ev.idle.0', payload, `idle${id}`, () => (answered += 1));
  await publishes.idle();
  expect(answered).toBe(50);
  const last = publishes.publishOne('ev.idle.0', payload, 'idle last');
  publishes.close();
  expect(await last).toEqual({ ok: false, failure: 'closed' });
  expect(await publishes.publishOne('ev.idle.0', payload, 'after')).toEqual({ ok: false, failure: 'closed' });
});

test('a full stream refuses with full, a full subject with subject_full, and both accept again when there is capacity', async () => {
  const { manager } = test_.bus;
  await manager.streams.add({
    name: 'SMALL',
    subjects: ['small.>'],
    max_msgs: 5,
    max_msgs_per_subject: 2,
    discard: 'new',
    discard_new_per_subject: true,
  });
  const publishes = publisher();
  const failureOf = (result: PublishResult) => (result.ok ? 'ok' : result.failure);
  const into = async (subject: string) => failureOf(await publishes.publishOne(subject, payload, null));
  expect(await into('small.a')).toBe('ok');
  expect(await into('small.a')).toBe('ok');
  expect(await into('small.a')).toBe('subject_full');
  expect(await into('small.b')).toBe('ok');
  expect(await into('small.b')).toBe('ok');
  expect(await into('small.c')).toBe('ok');
  expect(await into('small.d')).toBe('full');
  await manager.streams.purge('SMALL', { filter: 'small.a' });
  expect(await into('small.d')).toBe('ok');
});

test('a stream that is full by bytes refuses with full', async () => {
  await test_.bus.manager.streams.add({
    name: 'BYTES',
    subjects: ['bytes.>'],
    max_bytes: 4_096,
    discard: 'new',
  });
  const publishes = publisher();
  const results = new Set<string>();
  for (let count = 0; count < 6; count += 1) {
    const result = await publishes.publishOne('bytes.a', Buffer.alloc(1_000), null);
    results.add(result.ok ? 'ok' : result.failure);
  }
  expect([...results]).toEqual(['ok', 'full']);
});

test('a subject without a listener ends as unavailable at the deadline', async () => {
  const publishes = publisher({ timeoutMs: 100, deadlineMs: 300 });
  expect(await publishes.publishOne('nobody.listens', payload, 'x')).toEqual({ ok: false, failure: 'unavailable' });
});

test('another expected sequence is a conflict', async () => {
  const publishes = publisher();
  const expecting = { 'Nats-Expected-Last-Subject-Sequence': '0' };
  expect(await publishes.publishOne('ev.conflict.0', payload, null, expecting)).toMatchObject({ ok: true });
  expect(await publishes.publishOne('ev.conflict.0', payload, null, expecting)).toEqual({
    ok: false,
    failure: 'conflict',
  });
});

test('kill -9 of the server in the middle of 20,000 publishes: each ends, each acked one is there, none twice', async () => {
  const publishes = publisher({ deadlineMs: 15_000 });
  const total = 20_000;
  const acked = new Set<string>();
  let ended = 0;
  const kill: { done?: Promise<void> } = {};
  let next = 0;
  const pump = () => {
    while (next < total && publishes.hasCapacity('ev.kill.0')) {
      const id = `kill${next}`;
      next += 1;
      publishes.publish('ev.kill.0', Buffer.from(id), id, (result) => {
        ended += 1;
        if (result.ok) acked.add(id);
        if (acked.size === 5_000) kill.done ??= test_.nats.kill9().then(() => test_.nats.restart());
        queueMicrotask(pump);
      });
    }
  };
  pump();
  await until('every publish ended', () => ended === total);
  await kill.done;
  expect(kill.done).toBeDefined();
  const there = (await recordsOf(test_.bus, 'EVENTS', 'ev.kill.>')).map((each) => Buffer.from(each.data).toString());
  const distinct = new Set(there);
  expect(distinct.size).toBe(there.length);
  expect([...acked].filter((id) => !distinct.has(id)).slice(0, 5)).toEqual([]);
  expect(acked.size).toBe(total);
});

test('a half-open connection is noticed within ten seconds, and what was in flight arrives once', async () => {
  const proxy = await startProxy(test_.nats.url);
  const bus = await connectBus(proxy.url, 'half-open');
  closing.push(
    () => proxy.close(),
    () => bus.close(),
  );
  const publishes = publisher({ deadlineMs: 30_000 }, bus);
  await publishes.publishOne('ev.half.0', payload, 'half0');
  let noticed = false;
  bus.onReconnect(() => (noticed = true));
  proxy.silence();
  const inFlight = [1, 2, 3].map((id) => publishes.publishOne('ev.half.0', payload, `half${id}`));
  proxy.heal();
  // It takes nine and a little on a machine that runs.
  await until('the silence is noticed', () => noticed, within(10_000));
  expect((await Promise.all(inFlight)).every((each) => each.ok)).toBe(true);
  expect(await recordsOf(test_.bus, 'EVENTS', 'ev.half.>')).toHaveLength(4);
});

test('the defaults are the named bounds', async () => {
  const publishes = publisher();
  const results: string[] = [];
  for (let id = 0; id <= limits.bus.publishesInFlightMax; id += 1) {
    publishes.publish('ev.bound.0', payload, `bound${id}`, (result) => results.push(result.ok ? 'ok' : result.failure));
  }
  expect(results).toEqual(['busy']);
  await publishes.idle();
  expect(results.filter((each) => each === 'ok')).toHaveLength(limits.bus.publishesInFlightMax);
});
