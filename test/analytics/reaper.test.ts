// Messages without a receipt, many thousands of them in a real event store: all are settled, each once, over restarts
// and while the store is down, and none is skipped because its submit was recorded late.
import { afterEach, beforeEach, expect, test } from 'vitest';
import { DeadlineExceeded } from '../../platform/deadline.ts';
import { RetryLater, ignoring } from '../../platform/errors.ts';
import { RecordedEvents } from '../../analytics/queries/recorded-events.ts';
import { unflushedOver } from '../../analytics/recorder/batch.ts';
import { upToDateOver } from '../../analytics/queries/up-to-date.ts';
import { takeOverCursor } from '../../analytics/reaper/reaper-cursor.ts';
import { type Reaper, startReaper } from '../../analytics/reaper/reaper.ts';
import { type Recorder, startRecorder } from '../../analytics/recorder/recorder.ts';
import type { Engine } from '../../analytics/store/engine.ts';
import { openBucket } from '../../cluster/bus/ensure.ts';
import { EventWriter } from '../../cluster/bus/event-writer.ts';
import { Publisher } from '../../cluster/bus/publisher.ts';
import type { DeliveryEvent } from '../../model/delivery-event.ts';
import { newWebhookEndpointId } from '../../model/ids.ts';
import { decodeEvents } from '../../model/records/event-record.ts';
import { systemClock } from '../../platform/clock.ts';
import { until } from '../support/until.ts';
import { limits } from '../../platform/limits.ts';
import { type EventStore, startEventStore } from './support/event-store.ts';
import { account, contextOf, lifeOf } from './support/events.ts';

const hourMs = 3_600_000;
const { receiptGraceMs } = limits.message;
const { clockSkewMsMax } = limits.recorder;

let events: EventStore;
let publisher: Publisher;
let writer: EventWriter;
let recorder: Recorder;
let isAway = false;
let skippedMs = 0;
const clock = { ...systemClock, nowMs: () => systemClock.nowMs() + skippedMs };

beforeEach(async () => {
  isAway = false;
  skippedMs = 0;
  events = await startEventStore();
  publisher = new Publisher(events.bus);
  writer = new EventWriter(publisher);
  recorder = await startRecorder({ bus: events.bus, engine: events.engine, publisher });
});

afterEach(async () => {
  await recorder.stop(5_000);
  writer.close();
  publisher.close();
  await events.stop();
});

function start(heldSinceMs = () => recorder.heldSinceMs): Reaper {
  const engine: Engine = {
    ...events.engine,
    rows: (...query) => (isAway ? Promise.reject(new Error('the store is away')) : events.engine.rows(...query)),
  };
  return startReaper({
    engine,
    recorded: new RecordedEvents(engine),
    unflushed: unflushedOver(() => recorder.unflushed()),
    upToDate: upToDateOver(events.bus, () => recorder),
    writer,
    bucket: () => openBucket(events.bus, 'recorder'),
    heldSinceMs,
    clock,
  });
}

/** Messages that were accepted over the ten hours before, one after the other; every fifth has its receipt. */
async function recordMany(count: number): Promise<void> {
  const firstMs = systemClock.nowMs() - 14 * hourMs;
  const columns =
    'event_id, kind, at, message_id, account_id, carrier, attempt, segment, segments, carrier_message_id, category, ' +
    'sender, recipient, encoding, accepted_at, valid_until, stream_epoch, stream_seq, recorded_at';
  for (const kind of ['submitted', 'delivered']) {
    await events.engine.command(
      `INSERT INTO sms_events (${columns})
       SELECT leftPad(concat('${kind[0]}', toString(number)), 26, '0'), '${kind}', accepted, concat('sms_', leftPad(toString(number), 22, '0')),
         '${account}', 'alpha', 1, 1, 1, toString(number), 'transactional', 'BRAND', '+8801712345678', 'gsm7',
         fromUnixTimestamp64Milli(toInt64(${firstMs} + intDiv(number * ${10 * hourMs}, ${count}))) AS accepted,
         accepted + INTERVAL 1 HOUR, 1, number, accepted
       FROM numbers(${count}) ${kind === 'delivered' ? 'WHERE number % 5 = 0' : ''}`,
    );
  }
}

const settledRows = async () => {
  const [row] = await events.engine.rows(
    "SELECT toUInt32(countIf(kind = 'unknown')), toUInt32(uniqExactIf(message_id, kind = 'unknown')), toUInt32(countIf(kind = 'unknown' AND toUInt64(substring(message_id, 5)) % 5 = 0)) FROM sms_events",
  );
  return row as number[];
};

const published = async () => (await events.bus.manager.streams.info('EVENTS')).state.last_seq;
const allRecorded = () => until('all recorded', async () => recorder.recordedTo >= (await published()));

/** As the role does: what is not known in time on a busy machine is tried again. */
async function runOf(reaper: ReturnType<typeof start>): Promise<number> {
  for (;;) {
    try {
      return await reaper.run();
    } catch (error) {
      if (!(error instanceof RetryLater || error instanceof DeadlineExceeded)) throw error;
      ignoring(error, 'a busy machine is late');
    }
  }
}

test('many thousands are settled each once, more than a thousand a minute, over a restart and an absent store', async () => {
  const count = 8_000;
  await recordMany(count);
  const beganMs = systemClock.monotonicMs();
  const first = start();
  const stopped = first.run();
  await until('some are settled', async () => (await published()) > 3);
  first.stop();
  const before = await stopped.catch(() => 0);
  expect(before).toBeLessThan(count * 0.8);

  const second = start();
  const failed = second.run();
  await until('some more are settled', async () => (await published()) > 12);
  isAway = true;
  await expect(failed).rejects.toThrow('away');
  const settledBefore = await published();
  await expect(second.run()).rejects.toThrow('away');
  expect(await published()).toBe(settledBefore);
  isAway = false;

  await runOf(second);
  second.stop();
  const minutes = (systemClock.monotonicMs() - beganMs) / 60_000;
  await allRecorded();
  expect(await settledRows()).toEqual([count * 0.8, count * 0.8, 0]);
  expect((count * 0.8) / minutes).toBeGreaterThan(1_000);
}, 240_000);

test('after a restart it continues at its cursor and reads nothing again', async () => {
  await recordMany(2_000);
  const first = start();
  await runOf(first);
  first.stop();
  const bucket = await openBucket(events.bus, 'recorder');
  const { dueMs } = (await bucket.get('reaper'))!.json<{ dueMs: number }>();
  expect(dueMs).toBeGreaterThan(clock.nowMs() - receiptGraceMs - clockSkewMsMax - 60_000);
  await allRecorded();
  const second = start();
  expect(await runOf(second)).toBe(0);
  second.stop();
  const again = (await bucket.get('reaper'))!.json<{ dueMs: number }>();
  expect(again.dueMs).toBeGreaterThanOrEqual(dueMs);
});

test('a submit that is recorded after the cursor has passed its validity is settled all the same', async () => {
  await recordMany(100);
  const reaper = start();
  await runOf(reaper);
  const acceptedAtMs = systemClock.nowMs() - 8 * hourMs;
  const late = contextOf({ acceptedAtMs, validUntilMs: acceptedAtMs + 1_000 });
  const lateAndDelivered = contextOf({ acceptedAtMs, validUntilMs: acceptedAtMs + 1_000 });
  await events.publish(lifeOf(late).slice(0, 3));
  await events.publish(lifeOf(lateAndDelivered));
  await allRecorded();
  expect(await runOf(reaper)).toBe(0);
  skippedMs = 2 * clockSkewMsMax;
  expect(await runOf(reaper)).toBe(1);
  reaper.stop();
  await allRecorded();
  const rows = await new RecordedEvents(events.engine).of(late);
  expect(rows.at(-1)).toMatchObject({ kind: 'unknown', error: 'no_receipt' });
});

test('what it settles goes to the callback_url of the message', async () => {
  const acceptedAtMs = systemClock.nowMs() - 8 * hourMs;
  const callback = { endpointId: newWebhookEndpointId(acceptedAtMs), url: 'https://shop.example/orders/7?x=%20y' };
  const of = { acceptedAtMs, validUntilMs: acceptedAtMs + 1_000 };
  const [own, other] = [contextOf({ ...of, callback }), contextOf(of)];
  await events.publish([own, other].flatMap((each) => lifeOf(each).slice(0, 3)));
  await allRecorded();
  skippedMs = 2 * clockSkewMsMax;
  const before = await published();
  const reaper = start();
  const settled = await until('both are settled', async () => {
    await reaper.run().catch((error: unknown) => ignoring(error, 'a busy machine is late'));
    const written: DeliveryEvent[] = [];
    for (let seq = before + 1; seq <= (await published()); seq += 1) {
      const record = await events.bus.manager.streams.getMessage('EVENTS', { seq });
      if (record !== null) written.push(...decodeEvents(record.data));
    }
    return written.length >= 2 ? written : null;
  });
  reaper.stop();
  const callbackOf = ({ messageId }: { messageId: string }) =>
    settled.find((each) => each.messageId === messageId)?.callback;
  expect([callbackOf(own), callbackOf(other)]).toEqual([callback, undefined]);
});

test('it skips nothing that is not in ClickHouse yet', async () => {
  await recordMany(100);
  const heldSinceMs = systemClock.nowMs() - 4 * hourMs;
  const reaper = start(() => heldSinceMs);
  await runOf(reaper);
  reaper.stop();
  const entry = await (await openBucket(events.bus, 'recorder')).get('reaper');
  expect(entry?.json<{ dueMs: number }>().dueMs).toBe(heldSinceMs - receiptGraceMs - clockSkewMsMax);
});

test('nothing is settled while EVENTS has records that are neither recorded nor held', async () => {
  await recordMany(500);
  await recorder.stop(5_000);
  await events.publish(lifeOf(contextOf()));
  const reaper = start();
  await expect(reaper.run()).resolves.toBe(0);
  // Nor when only the end of EVENTS is out of reach.
  const other = start(() => null);
  await expect(other.run()).rejects.toThrow();
  for (const each of [reaper, other]) each.stop();
  expect(await published()).toBe(1);
});

test('of two reapers the one that started last continues', async () => {
  const bucket = await openBucket(events.bus, 'recorder');
  const from = () => Promise.resolve(1_000);
  const first = await takeOverCursor(bucket, from);
  await first.save({ dueMs: 2_000, messageId: 'b' });
  const second = await takeOverCursor(bucket, from);
  expect(second.position).toEqual({ dueMs: 2_000, messageId: 'b' });
  await expect(first.save({ dueMs: 3_000, messageId: '' })).rejects.toThrow('taken over');
  await second.save({ dueMs: 4_000, messageId: '' });
  expect((await takeOverCursor(bucket, from)).position.dueMs).toBe(4_000);
});
