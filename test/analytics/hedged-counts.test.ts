// The counts of reports follow both copies of a hedged one-time password, over restarts of the recorder.
import { afterEach, beforeEach, expect, test } from 'vitest';
import { type Recorder, startRecorder } from '../../analytics/recorder/recorder.ts';
import { Publisher } from '../../cluster/bus/publisher.ts';
import { type EventContext, type EventKind, acceptedEvent, deliveryEvent } from '../../model/delivery-event.ts';
import { expectExactCounts } from '../support/recount.ts';
import { until } from '../support/until.ts';
import { type EventStore, startEventStore } from './support/event-store.ts';
import { contextOf } from './support/events.ts';

let events: EventStore;
let publisher: Publisher;
let recorder: Recorder;
beforeEach(async () => {
  events = await startEventStore();
  publisher = new Publisher(events.bus, { deadlineMs: 20_000 });
  recorder = await startRecorder({ bus: events.bus, engine: events.engine, publisher });
});
afterEach(async () => {
  await recorder.stop(5_000);
  publisher.close();
  await events.stop();
});

const at = (context: EventContext, kind: EventKind, afterMs: number, hop = 0, error: string | null = null) =>
  deliveryEvent(
    { ...context, hop, carrier: hop === 0 ? 'alpha' : 'beta' },
    { kind, error, attempt: 1, segment: 1, atMs: context.acceptedAtMs + afterMs },
  );
const toBeta = 'to beta: no_response';

async function counted(): Promise<Readonly<Record<string, number>>> {
  const { state } = await events.bus.manager.streams.info('EVENTS');
  await until('all recorded', () => recorder.recordedTo >= state.last_seq);
  return expectExactCounts((sql) => events.engine.rows(sql));
}
async function restart(): Promise<void> {
  await recorder.stop(5_000);
  recorder = await startRecorder({ bus: events.bus, engine: events.engine, publisher });
}
const otp = () => contextOf({ category: 'otp', carrier: 'alpha' });

test('a copy that fails counts as no end before the other has ended, in memory and after a restart', async () => {
  const one = otp();
  await events.publish([acceptedEvent(one), at(one, 'hedged', 300, 0, toBeta), at(one, 'rejected', 400, 1)]);
  expect(await counted()).toEqual({ accepted: 1 });
  await restart();
  await events.publish([at(one, 'unknown', 5_000)]);
  expect(await counted()).toEqual({ unknown: 1 });
  await restart();
  await events.publish([at(one, 'rejected', 6_000)]);
  expect(await counted()).toEqual({ rejected: 1 });
});

test('a copy that is cancelled after the delivery of the other changes no count', async () => {
  const one = otp();
  await events.publish([
    acceptedEvent(one),
    at(one, 'submitted', 10),
    at(one, 'hedged', 500, 0, 'to beta: no_receipt'),
  ]);
  await events.publish([at(one, 'submitted', 510, 1), at(one, 'delivered', 700, 1)]);
  await events.publish([
    at(one, 'canceled', 720, 0, 'hedge_not_needed'),
    at(one, 'undelivered', 730, 0, 'receipt_deleted'),
  ]);
  expect(await counted()).toEqual({ delivered: 1 });
  await restart();
  await events.publish([at(one, 'undelivered', 740, 0, 'receipt_deleted:1')]);
  expect(await counted()).toEqual({ delivered: 1 });
});
