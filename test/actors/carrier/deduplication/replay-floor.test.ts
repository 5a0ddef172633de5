// A restart reads what it needs, however long the downtime and whatever the clock says: everything down for half an
// hour and more, a purge meanwhile, a wrong wall clock. Then the floor itself as a model: after any sequence of begins,
// accepts, deferrals and kills, a replay from the floor knows of open messages what one from the beginning knows.
import fc from 'fast-check';
import { afterEach, describe, expect, test } from 'vitest';
import { startPurge } from '../../../../analytics/purge.ts';
import { EventSequence } from '../../../../actors/carrier/deduplication/event-sequence.ts';
import { ConsumerUptime, ReplayFloor, floorOf, kept } from '../../../../actors/carrier/deduplication/replay-floor.ts';
import { replayEvents } from '../../../../actors/carrier/deduplication/replay.ts';
import { ReplayIndex } from '../../../../actors/carrier/deduplication/replay-index.ts';
import { attemptNumber } from '../../../../actors/carrier/in-flight/attempt.ts';
import { ReplayFloors } from '../../../../cluster/bus/replay-floors.ts';
import { connectBus } from '../../../../cluster/bus/connect.ts';
import { encodeEvents } from '../../../../model/records/event-record.ts';
import { type DeliveryEvent, type EventDraft, eventOfMessage } from '../../../../model/delivery-event.ts';
import { type Clock, systemClock } from '../../../../platform/clock.ts';
import { until } from '../../../support/until.ts';
import { limits } from '../../../../platform/limits.ts';
import { endOf } from '../../../support/bus.ts';
import {
  type CarrierHarness,
  carrierHarnessOf,
  carrierWith,
  openCarrierHarness,
} from '../../../support/carrier-harness.ts';
import { ManualClock } from '../../../support/manual-clock.ts';
import { messageWith } from '../../../support/messages.ts';

let harness: CarrierHarness;
afterEach(() => harness?.stop());

const minutes = (count: number) => count * 60_000;
const withWallClock = (aheadMs: number): Clock => ({ ...systemClock, nowMs: () => systemClock.nowMs() + aheadMs });
const submits = (of: CarrierHarness) => of.simulator.stats().submits.total;

/** Runs the purge as in that time, with everything recorded. */
async function purgeFor({ bus }: CarrierHarness, ms: number): Promise<void> {
  let skippedMs = 0;
  const end = await endOf(bus, 'EVENTS');
  const clock = { ...systemClock, monotonicMs: () => systemClock.monotonicMs() + skippedMs };
  const purge = startPurge(bus, () => end, clock);
  for (; skippedMs <= ms; skippedMs += minutes(5)) await purge.run();
  purge.stop();
}

// Each waits for a carrier that answers after three seconds, and for redeliveries of a killed process.
describe.concurrent('kill -9 with outstanding submits', () => {
  test.for([
    ['no process for 31 minutes', 31],
    ['no process for ten hours', 600],
    ['a wall clock that is 31 minutes behind at the next start', -31],
    ['a wall clock that is ten hours behind at the next start', -600],
  ] as const)('and %s: nothing is sent again', async ([, aheadMinutes], { onTestFinished }) => {
    const own = await carrierHarnessOf(onTestFinished, { response: 'fixed:3000' });
    own.simulator.setFault('no-receipt');
    const carrier = carrierWith(own.simulator, { bind: { window: 20, count: 1 } });
    const first = await own.host([carrier]);
    const changes = { category: 'transactional', validUntilMs: systemClock.nowMs() + minutes(2_000) } as const;
    const sent = await own.send(20, changes);
    await until('a window is out', () => submits(own) === 20);
    await first.kill9();
    own.simulator.setFault(null);
    await purgeFor(own, minutes(Math.abs(aheadMinutes)));
    await own.actor(carrier, withWallClock(minutes(aheadMinutes)));
    expect(await own.settled(sent)).toMatchObject({ twice: [], statuses: { unknown: 20 } });
  });
});

test('a replay that gets nothing logs it, starts no work, and continues after the last event read', async () => {
  harness = await openCarrierHarness();
  const message = messageWith();
  const event = eventOfMessage(message, { kind: 'intent', atMs: 1, attempt: 1 });
  for (let count = 0; count < 3; count += 1)
    await harness.publisher.publishOne('ev.alpha.0', encodeEvents([event]), null);
  await harness.nats.kill9();
  const learnt: number[] = [];
  const bus = await connectBus(harness.nats.url, 'x').catch(() => harness.bus);
  const replayed = replayEvents({
    bus,
    carrier: 'alpha',
    fromSeq: 2,
    learn: (_event, { seq }) => learnt.push(seq),
  });
  expect(await Promise.race([replayed, systemClock.sleep(300).then(() => 'waits')])).toBe('waits');
  await harness.nats.restart();
  expect(await replayed).toBe(2);
  expect(learnt).toEqual([2, 3]);
});

test('a carrier that stops before its replay is complete ends it', async () => {
  harness = await openCarrierHarness();
  await harness.nats.kill9();
  const stopping = new AbortController();
  const parts = { bus: harness.bus, carrier: 'alpha', fromSeq: 1, learn: () => {}, signal: stopping.signal };
  const replayed = replayEvents(parts);
  stopping.abort(new Error('alpha stops'));
  await expect(replayed).rejects.toThrow('alpha stops');
  await harness.nats.restart();
});

test('the floor of a drained carrier pins nothing, that of a killed one what it had begun', async () => {
  harness = await openCarrierHarness({ response: 'fixed:3000' });
  const carrier = carrierWith(harness.simulator, { bind: { window: 5, count: 1 } });
  const floors = new ReplayFloors(harness.bus);
  const one = await harness.actor(carrier);
  await one.drain();
  expect(await floors.read('alpha')).toMatchObject({ stopped: true });
  const killed = await harness.host([carrier]);
  await harness.send(5);
  await until('a window is out', () => submits(harness) === 5);
  await killed.kill9();
  const floor = await floors.read('alpha');
  expect(floor).toMatchObject({ stopped: false });
  await purgeFor(harness, minutes(60));
  const { state } = await harness.bus.manager.streams.info('EVENTS');
  expect(state.first_seq).toBeLessThanOrEqual(floor?.seq ?? 0);
  expect(state.messages).toBeGreaterThan(0);
});

test('a begun message whose record an operator purged pins nothing', async () => {
  harness = await openCarrierHarness({ response: 'fixed:3000' });
  const carrier = carrierWith(harness.simulator, { bind: { window: 5, count: 1 } });
  const killed = await harness.host([carrier]);
  await harness.send(5);
  await until('a window is out', () => submits(harness) === 5);
  await killed.kill9();
  await harness.bus.manager.streams.purge('MT_TXN');
  await purgeFor(harness, minutes(60));
  const { state } = await harness.bus.manager.streams.info('EVENTS');
  expect(state.messages).toBe(0);
});

describe('the floor', () => {
  test('is the lowest of the window, what was read and what is open', () => {
    expect(floorOf(50, Number.POSITIVE_INFINITY, [])).toBe(50);
    expect(floorOf(50, 20, [])).toBe(21);
    expect(floorOf(50, 20, [Number.POSITIVE_INFINITY, 7, 30])).toBe(7);
    expect(floorOf(0, 0, [])).toBe(1);
  });

  test('of a window is where the stream ended when the window began, or before', () => {
    const samples = [0, 10, 20, 30].map((atMs) => ({ atMs, lastSeq: atMs * 100 }));
    expect(kept(samples, -1)).toEqual(samples);
    expect(kept(samples, 10)[0]).toEqual({ atMs: 10, lastSeq: 1_000 });
    expect(kept(samples, 19)[0]).toEqual({ atMs: 10, lastSeq: 1_000 });
    expect(kept(samples, 20)[0]).toEqual({ atMs: 20, lastSeq: 2_000 });
    expect(kept(samples, 9e9)).toEqual(samples.slice(-1));
  });
});

type Step = { readonly of: number; readonly does: 'intent' | 'taken' | 'defer' | 'end' | 'look' | 'others' };
const step: fc.Arbitrary<Step> = fc.record({
  of: fc.integer({ min: 0, max: 3 }),
  does: fc.constantFrom('intent', 'taken', 'taken', 'defer', 'end', 'look', 'others'),
});

test('a replay from the floor knows of every message without an outcome what one from the beginning knows', () => {
  fc.assert(
    fc.property(fc.array(step, { minLength: 5, maxLength: 200, size: 'max' }), (steps) => {
      const stream: DeliveryEvent[] = [];
      const write = (event: DeliveryEvent) => stream.push(event);
      const models = Array.from({ length: 4 }, () => fresh());
      let floor = 1;
      for (const { of, does } of steps) {
        const model = models[of] as Model;
        const nextSeq = stream.length + 1;
        const happens = (draft: Partial<EventDraft>) =>
          write(
            eventOfMessage(model.message, {
              kind: 'intent',
              atMs: 1,
              attempt: attemptNumber(0, model.tries),
              ...draft,
            }),
          );
        if (does === 'others') write(eventOfMessage(messageWith(), { kind: 'accepted', atMs: 1 }));
        else if (does === 'intent' && !model.open && model.tries < 15) {
          model.tries += 1;
          model.open = true;
          model.neededFromSeq = nextSeq;
          happens({ progress: model.bits });
        } else if (does === 'taken' && model.open) {
          const segment = 1 + (model.tries % 2);
          if ((model.bits & (1 << segment)) !== 0) continue;
          model.bits |= 1 << segment;
          happens({ kind: 'submitted', segment, carrierMessageId: 'x' });
        } else if (does === 'defer' && model.open) {
          model.open = false;
          model.neededFromSeq = nextSeq;
          happens({ kind: 'deferred', segment: 3, progress: model.bits });
        } else if (does === 'end' && model.open) {
          happens({ kind: 'rejected', segment: 3 });
          models[of] = fresh();
        } else if (does === 'look') {
          const pins = models.filter(({ open, bits }) => open || bits !== 0).map((each) => each.neededFromSeq);
          // Without a window: only what is needed is kept.
          floor = Math.max(floor, floorOf(nextSeq, Number.POSITIVE_INFINITY, pins));
        }
      }
      const [whole, short] = [new ReplayIndex(new ManualClock()), new ReplayIndex(new ManualClock())];
      stream.forEach((event, at) => whole.learn(event, { seq: at + 1, storedAtMs: at }));
      stream.slice(floor - 1).forEach((event, at) => short.learn(event, { seq: floor + at, storedAtMs: at }));
      for (const { message, open, bits } of models) {
        const key = message.messageId;
        expect(short.statusOf(key)).toBe(whole.statusOf(key));
        expect(short.takenBitsOf(key)).toBe(whole.takenBitsOf(key));
        expect([short.statusOf(key) === 'intent_without_outcome', short.takenBitsOf(key)]).toEqual([open, bits]);
        // The next incarnation must keep no less than this one did.
        if (open || bits !== 0) expect(short.needsFromSeq).toBeLessThanOrEqual(stream.length);
      }
    }),
    { numRuns: 2_000 },
  );
});

type Model = {
  message: ReturnType<typeof messageWith>;
  tries: number;
  open: boolean;
  bits: number;
  neededFromSeq: number;
};
const fresh = (): Model => ({
  message: messageWith({ segments: 3 }),
  tries: 0,
  open: false,
  bits: 0,
  neededFromSeq: 0,
});

/** A floor of `alpha` on a manual clock, with nothing in flight. */
function floorWith(clock: ManualClock, replayIndex: ReplayIndex, isReachable = () => true): ReplayFloor {
  const uptime = new ConsumerUptime(clock);
  const parts = {
    bus: harness.bus,
    carrier: 'alpha',
    sequence: new EventSequence(() => 0),
    inFlight: () => [],
    republish: () => {},
  };
  return new ReplayFloor({ ...parts, clock, replayIndex, uptime, isReachable });
}

async function publishEvents(count: number): Promise<void> {
  const event = encodeEvents([eventOfMessage(messageWith(), { kind: 'accepted', atMs: 1 })]);
  for (let each = 0; each < count; each += 1) harness.publisher.publish('ev.alpha.0', event, null, () => {});
  await harness.publisher.idle();
}

/** A window passes, with a check every few seconds. */
async function passWindow(clock: ManualClock, floor: ReplayFloor): Promise<void> {
  for (let ms = 0; ms <= limits.carrier.replayWindowMs; ms += limits.carrier.floorEveryMs) {
    clock.advance(limits.carrier.floorEveryMs);
    await until('the look is over', () => !floor.isLooking);
    await floor.look();
  }
}

test('a restart reads the last window of its events, and not the hours before', async () => {
  harness = await openCarrierHarness();
  const floors = new ReplayFloors(harness.bus);
  const clock = new ManualClock();
  const floor = floorWith(clock, new ReplayIndex(clock));
  await publishEvents(900);
  expect(await floor.open()).toBe(1);
  await passWindow(clock, floor);
  await publishEvents(100);
  await floor.look();
  const seq = (await floors.read('alpha'))?.seq ?? 0;
  expect(seq).toBe(901);
  const events = await replayEvents({ bus: harness.bus, carrier: 'alpha', fromSeq: seq, learn: () => {} });
  expect(events).toBe(100);
  await passWindow(clock, floor);
  expect(await floors.read('alpha')).toMatchObject({ seq: 1_001 });
  await floor.close(true);
});

test('while a consumer is unreachable the floor stays: acks may be lost, and their records redelivered much later', async () => {
  harness = await openCarrierHarness();
  const floors = new ReplayFloors(harness.bus);
  const clock = new ManualClock();
  let isReachable = false;
  const floor = floorWith(clock, new ReplayIndex(clock), () => isReachable);
  await publishEvents(10);
  await floor.open();
  await passWindow(clock, floor);
  await passWindow(clock, floor);
  expect(await floors.read('alpha')).toMatchObject({ seq: 1 });
  isReachable = true;
  await passWindow(clock, floor);
  expect(await floors.read('alpha')).toMatchObject({ seq: 11 });
  await floor.close(true);
});

test('an open intent pins the floor while a record older than it waits, and not when all are younger or gone', async () => {
  harness = await openCarrierHarness();
  const floors = new ReplayFloors(harness.bus);
  const clock = new ManualClock();
  const replayIndex = new ReplayIndex(clock);
  const floor = floorWith(clock, replayIndex);
  await harness.send(1);
  await publishEvents(10);
  await floor.open();
  const message = messageWith();
  const storedAtMs = systemClock.nowMs() + 1;
  replayIndex.learn(eventOfMessage(message, { kind: 'intent', atMs: 1, attempt: 1 }), { seq: 5, storedAtMs });
  await passWindow(clock, floor);
  expect(await floors.read('alpha')).toMatchObject({ seq: 5 });
  expect(replayIndex.statusOf(message.messageId)).toBe('intent_without_outcome');
  await harness.bus.manager.streams.purge('MT_TXN');
  await floor.look();
  expect(await floors.read('alpha')).toMatchObject({ seq: 11 });
  expect(replayIndex.statusOf(message.messageId)).toBe('new');
  await floor.close(true);
});
