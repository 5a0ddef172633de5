// EVENTS is recreated or restored from a backup, and assigns its sequences again (fault 63): a carrier's replay floor
// is of the present stream or does not count, and covers what is begun meanwhile.
import type { JsMsg } from '@nats-io/jetstream';
import { afterEach, expect, test } from 'vitest';
import { InFlightMessage } from '../../../../actors/carrier/in-flight/in-flight-message.ts';
import { EventSequence } from '../../../../actors/carrier/deduplication/event-sequence.ts';
import {
  type ReplayFloorParts,
  ConsumerUptime,
  ReplayFloor,
} from '../../../../actors/carrier/deduplication/replay-floor.ts';
import { ReplayIndex } from '../../../../actors/carrier/deduplication/replay-index.ts';
import { ensureStreams } from '../../../../cluster/bus/ensure.ts';
import { encodeEvents } from '../../../../model/records/event-record.ts';
import { EventWriter } from '../../../../cluster/bus/event-writer.ts';
import { ReplayFloors } from '../../../../cluster/bus/replay-floors.ts';
import { eventOfMessage } from '../../../../model/delivery-event.ts';
import { until } from '../../../support/until.ts';
import { limits } from '../../../../platform/limits.ts';
import { type CarrierHarness, openCarrierHarness } from '../../../support/carrier-harness.ts';
import { ManualClock } from '../../../support/manual-clock.ts';
import { messageWith } from '../../../support/messages.ts';

let harness: CarrierHarness;
afterEach(() => harness.stop());

function floorWith(clock: ManualClock, replayIndex: ReplayIndex, changes: Partial<ReplayFloorParts> = {}): ReplayFloor {
  const uptime = new ConsumerUptime(clock);
  const parts = {
    bus: harness.bus,
    carrier: 'alpha',
    sequence: new EventSequence(() => 0),
    inFlight: () => [],
    republish: () => {},
  };
  return new ReplayFloor({ ...parts, clock, replayIndex, uptime, isReachable: () => true, ...changes });
}

/** A window passes, with a check every few seconds. */
async function passWindow(clock: ManualClock, floor: ReplayFloor): Promise<void> {
  for (let ms = 0; ms <= limits.carrier.replayWindowMs; ms += limits.carrier.floorEveryMs) {
    clock.advance(limits.carrier.floorEveryMs);
    await until('the look is over', () => !floor.isLooking);
    await floor.look();
  }
}

test('EVENTS recreated: the floor is the new stream’s beginning, for a window and for what is begun', async () => {
  harness = await openCarrierHarness();
  const floors = new ReplayFloors(harness.bus);
  const clock = new ManualClock();
  const replayIndex = new ReplayIndex(clock);
  const writer = new EventWriter(harness.publisher, { lingerMs: 0 });
  const one = new InFlightMessage('one', messageWith(), {} as JsMsg, 0);
  one.queue();
  one.beginIntent(0, 0, 0, 1);
  one.send();
  const sequence = new EventSequence(() => writer.lastSeq);
  const floor = floorWith(clock, replayIndex, { sequence, inFlight: () => [one] });
  writer.onWentBack = () => floor.startAgain();
  const write = () => {
    const event = eventOfMessage(messageWith(), { kind: 'intent', atMs: 1, attempt: 1 });
    return new Promise<boolean>((resolve) => writer.write({ ...event, carrier: 'alpha' }, resolve, true));
  };
  for (let each = 0; each < 40; each += 1) await write();
  await floor.open();
  await passWindow(clock, floor);
  const intentOf = messageWith();
  replayIndex.learn(eventOfMessage(intentOf, { kind: 'intent', atMs: 1, attempt: 1 }), {
    seq: 41,
    storedAtMs: Number.POSITIVE_INFINITY,
  });
  expect(await floors.read('alpha')).toMatchObject({ seq: 41 });
  await harness.bus.manager.streams.delete('EVENTS');
  await ensureStreams(harness.bus);
  one.neededFromSeq = sequence.next;
  await write();
  // From the first record of the new stream on, no sequence of the old one counts.
  expect(sequence.next).toBe(1);
  expect(one.neededFromSeq).toBe(1);
  expect(replayIndex.needsFromSeq).toBe(1);
  await passWindow(clock, floor);
  const { stream } = await floors.ends();
  expect(await floors.read('alpha')).toMatchObject({ stream, seq: 1 });
  writer.close();
  await floor.close(false);
});

test('a floor of an EVENTS that was restored and has grown again skips nothing', async () => {
  harness = await openCarrierHarness();
  const floors = new ReplayFloors(harness.bus);
  const event = encodeEvents([eventOfMessage(messageWith(), { kind: 'accepted', atMs: 1 })]);
  for (let each = 0; each < 30; each += 1) await harness.publisher.publishOne('ev.alpha.0', event, null);
  const { stream } = await floors.ends();
  const beforeAtNs = await floors.storedAtNs(20);
  const floorOfThis = { stream, seq: 21, beforeAtNs, stopped: false };
  const clock = new ManualClock();
  await floors.write('alpha', floorOfThis);
  expect(await floorWith(clock, new ReplayIndex(clock)).open()).toBe(21);
  // Simulates a stream that lost its end, and has got other records since.
  await floors.write('alpha', { ...floorOfThis, beforeAtNs: String(BigInt(beforeAtNs ?? 0) + 1n) });
  expect(await floorWith(clock, new ReplayIndex(clock)).open()).toBe(1);
});
