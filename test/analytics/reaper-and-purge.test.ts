// What the reaper settles and what the purge may take, decided purely; and a run of both on real parts.
import { AckPolicy } from '@nats-io/jetstream';
import { afterEach, beforeEach, describe, expect, test } from 'vitest';
import { purgeableTo, purgedAtOnceTo, readersThatCount, startPurge } from '../../analytics/purge.ts';
import { RecordedEvents } from '../../analytics/queries/recorded-events.ts';
import { unflushedOver } from '../../analytics/recorder/batch.ts';
import { receiptNeverCame, startReaper } from '../../analytics/reaper/reaper.ts';
import { startRecorder } from '../../analytics/recorder/recorder.ts';
import { upToDateOver } from '../../analytics/queries/up-to-date.ts';
import { openBucket } from '../../cluster/bus/ensure.ts';
import { EventWriter } from '../../cluster/bus/event-writer.ts';
import { Publisher } from '../../cluster/bus/publisher.ts';
import { ReplayFloors } from '../../cluster/bus/replay-floors.ts';
import { deliveryEvent } from '../../model/delivery-event.ts';
import { foldEvents } from '../../model/fold.ts';
import { systemClock } from '../../platform/clock.ts';
import { until } from '../support/until.ts';
import { limits } from '../../platform/limits.ts';
import { endOf, startBus } from '../support/bus.ts';
import { type EventStore, startEventStore } from './support/event-store.ts';
import { contextOf, lifeOf } from './support/events.ts';

const grace = limits.message.receiptGraceMs;

describe('a message without a receipt', () => {
  const context = contextOf({ acceptedAtMs: 1_000_000, validUntilMs: 2_000_000 });
  const [accepted, intent, submitted, delivered] = lifeOf(context);

  test('is unknown once validity and grace are over, not a millisecond before', () => {
    const state = foldEvents([accepted!, submitted!]);
    expect(receiptNeverCame(state, 2_000_000 + grace - 1)).toEqual([]);
    expect(receiptNeverCame(state, 2_000_000 + grace)).toMatchObject([{ kind: 'unknown', error: 'no_receipt' }]);
  });

  test('has one id however often it is written', () => {
    const state = foldEvents([accepted!, submitted!]);
    const [first] = receiptNeverCame(state, 2_000_000 + grace);
    expect(receiptNeverCame(state, 3_000_000 + grace)[0]?.eventId).toBe(first?.eventId);
  });

  test('ends in both of its copies when it was hedged', () => {
    const hedged = deliveryEvent(context, { kind: 'hedged', atMs: 1_000_500, error: 'to beta: no_response' });
    const refused = deliveryEvent({ ...context, hop: 1, carrier: 'beta' }, { kind: 'rejected', atMs: 1_000_600 });
    for (const events of [
      [accepted!, hedged, submitted!],
      [accepted!, hedged, submitted!, refused],
    ]) {
      const state = foldEvents(events);
      expect(state?.status).toBe('submitted');
      const never = receiptNeverCame(state, 2_000_000 + grace);
      expect(never.map(({ hop }) => hop)).toEqual([0, 1]);
      expect(foldEvents([...events, ...never])?.status).toBe('unknown');
      expect(new Set(never.map(({ eventId }) => eventId)).size).toBe(2);
    }
  });

  test('is left alone when it was never submitted or has ended', () => {
    expect(receiptNeverCame(foldEvents([accepted!, intent!]), 9e12)).toEqual([]);
    expect(receiptNeverCame(foldEvents([accepted!, submitted!, delivered!]), 9e12)).toEqual([]);
    expect(receiptNeverCame(null, 9e12)).toEqual([]);
  });
});

describe('EVENTS is purged', () => {
  const samples = [
    { atMs: 0, lastSeq: 100 },
    { atMs: 30_000, lastSeq: 200 },
  ];
  const reader = { name: 'x', durable: false, acks: true, ackFloorSeq: 70, deliveredSeq: 90, outstanding: 30 };

  test('only where it is older than what is kept', () => {
    expect(purgeableTo(samples, -1, 1_000, [])).toBe(0);
    expect(purgeableTo(samples, 0, 1_000, [])).toBe(100);
    expect(purgeableTo(samples, 30_000, 1_000, [])).toBe(200);
  });

  test('only behind the recorder and every reader that still has something to read', () => {
    expect(purgeableTo(samples, 0, 50, [])).toBe(50);
    expect(purgeableTo(samples, 0, 1_000, [reader])).toBe(70);
    expect(purgeableTo(samples, 0, 1_000, [{ ...reader, acks: false }])).toBe(90);
    expect(purgeableTo(samples, 0, 1_000, [{ ...reader, outstanding: 0 }])).toBe(100);
  });
});

describe('one purge of EVENTS', () => {
  const { purgeBytes, purgeShare } = limits.recorder;
  /** Records of 1 KiB from 1,001 on. */
  const state = (messages: number) => ({ first_seq: 1_001, messages, bytes: messages * 1_024 });
  const atLeast = purgeBytes / 1_024;

  test('removes a file of the server, and what is left comes later', () => {
    expect(purgedAtOnceTo(state(100_000), 1_000 + atLeast - 1)).toBe(1_000 + atLeast - 1);
    expect(purgedAtOnceTo(state(100_000), 1_000 + atLeast + 1)).toBe(1_000 + atLeast);
    expect(purgedAtOnceTo(state(5), 1_003)).toBe(1_003);
  });

  test('removes a share of a long backlog, so that it gets shorter however much comes', () => {
    const backlog = 10 * (atLeast / purgeShare);
    expect(purgedAtOnceTo(state(10 * backlog), 1_000 + backlog)).toBe(1_000 + backlog * purgeShare);
    // What comes between two purges is removed by each of them when the backlog is 1 / share of it.
    let left = 0;
    const comes = 50 * atLeast;
    for (let run = 0; run < 100; run += 1) {
      left += comes;
      left -= purgedAtOnceTo(state(10 * left), 1_000 + left) - 1_000;
    }
    expect(left).toBeLessThan(comes / purgeShare);
  });
});

describe('an operator’s durable consumer', () => {
  const own = { name: 'own', durable: false, acks: false, ackFloorSeq: 0, deliveredSeq: 5, outstanding: 9 };
  const foreign = { ...own, name: 'export', durable: true, acks: true };
  const { foreignReadersRatio } = limits.recorder;

  test('is waited for while EVENTS has room, and not beyond', () => {
    expect(readersThatCount([own, foreign], foreignReadersRatio)).toEqual([own, foreign]);
    expect(readersThatCount([own, foreign], foreignReadersRatio + 0.01)).toEqual([own]);
  });

  test('of a full EVENTS does not pin it, and one that is half full waits for it', async () => {
    const { bus, stop } = await startBus();
    const publisher = new Publisher(bus);
    const manager = bus.manager;
    await manager.consumers.add('EVENTS', { durable_name: 'export', ack_policy: AckPolicy.Explicit });
    for (let count = 0; count < 40; count += 1) await publisher.publishOne('ev.alpha.0', Buffer.alloc(1_000), null);
    let skippedMs = 0;
    const clock = { ...systemClock, monotonicMs: () => systemClock.monotonicMs() + skippedMs };
    const end = await endOf(bus, 'EVENTS');
    const purge = startPurge(bus, () => end, clock);
    await purge.run();
    skippedMs = limits.carrier.replayWindowMs * 2;
    await purge.run();
    expect((await manager.streams.info('EVENTS')).state.messages).toBe(40);
    const { config } = await manager.streams.info('EVENTS');
    await manager.streams.update('EVENTS', { ...config, max_bytes: 70_000 });
    await purge.run();
    expect((await manager.streams.info('EVENTS')).state.messages).toBe(0);
    purge.stop();
    publisher.close();
    await stop();
  });
});

describe('a carrier’s replay floor', () => {
  test('pins EVENTS as long as one of its records waits, configured or not, and not when none does', async () => {
    const { bus, stop } = await startBus();
    const publisher = new Publisher(bus);
    const floors = new ReplayFloors(bus);
    for (let count = 0; count < 10; count += 1) await publisher.publishOne('ev.beta.0', Buffer.alloc(100), null);
    const { stream } = await floors.ends();
    await floors.write('removed', { stream, seq: 4, beforeAtNs: null, stopped: false });
    await floors.write('rested', { stream, seq: 2, beforeAtNs: null, stopped: true });
    await publisher.publishOne('mt.txn.removed.0', Buffer.from('x'), null);
    await publisher.publishOne('mt.txn.rested.0', Buffer.from('x'), null);
    let skippedMs = 0;
    const clock = { ...systemClock, monotonicMs: () => systemClock.monotonicMs() + skippedMs };
    const end = await endOf(bus, 'EVENTS');
    const purge = startPurge(bus, () => end, clock);
    await purge.run();
    skippedMs = 100 * 3_600_000;
    await purge.run();
    expect((await bus.manager.streams.info('EVENTS')).state.first_seq).toBe(4);
    await bus.manager.streams.purge('MT_TXN', { filter: 'mt.txn.removed.>' });
    await purge.run();
    expect((await bus.manager.streams.info('EVENTS')).state.messages).toBe(0);
    purge.stop();
    publisher.close();
    await stop();
  });
});

describe('on real parts', () => {
  let events: EventStore;
  beforeEach(async () => {
    events = await startEventStore();
  });
  afterEach(() => events.stop());

  test('the reaper settles the overdue message once, and the purge takes what is recorded and old', async () => {
    const { engine } = events;
    const publisher = new Publisher(events.bus);
    const recorder = await startRecorder({ bus: events.bus, engine, publisher });
    const recorded = new RecordedEvents(engine);
    const unflushed = unflushedOver(() => recorder.unflushed());
    const writer = new EventWriter(publisher);
    const clock = { ...systemClock, monotonicMs: () => systemClock.monotonicMs() + skippedMs };
    let skippedMs = 0;
    const reaper = startReaper({
      engine,
      recorded,
      unflushed,
      upToDate: upToDateOver(events.bus, () => recorder),
      writer,
      bucket: () => openBucket(events.bus, 'recorder'),
      heldSinceMs: () => recorder.heldSinceMs,
    });
    const purge = startPurge(events.bus, () => recorder.recorded, clock);

    const longAgo = systemClock.nowMs() - 3 * 3_600_000;
    const overdue = contextOf({ acceptedAtMs: longAgo, validUntilMs: longAgo + 1_000 });
    const settled = contextOf({ acceptedAtMs: longAgo, validUntilMs: longAgo + 1_000 });
    const open = contextOf();
    await events.publish(lifeOf(overdue).slice(0, 3));
    await events.publish(lifeOf(settled));
    await events.publish(lifeOf(open).slice(0, 3));
    await until('the rows', async () => recorder.recordedTo >= 3);
    expect(await reaper.run()).toBe(1);
    await until('the event', async () => recorder.recordedTo >= 4);
    expect(await reaper.run()).toBe(0);
    const rows = await recorded.of(overdue);
    expect(foldEvents(rows)).toMatchObject({ status: 'unknown', error: 'no_receipt' });

    await purge.run();
    expect((await events.bus.manager.streams.info('EVENTS')).state.messages).toBe(4);
    skippedMs = limits.carrier.replayWindowMs * 2;
    await purge.run();
    expect((await events.bus.manager.streams.info('EVENTS')).state.messages).toBe(0);

    reaper.stop();
    purge.stop();
    await recorder.stop(5_000);
    writer.close();
    publisher.close();
  });
});
