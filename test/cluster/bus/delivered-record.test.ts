// What is kept of a record acks it as the client's own message does: on a real nats-server.
import { AckPolicy, type ConsumerInfo, type JsMsg } from '@nats-io/jetstream';
import { nanos } from '@nats-io/transport-node';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { connectBus } from '../../../cluster/bus/connect.ts';
import { type Consumption, consumeStream } from '../../../cluster/bus/consume.ts';
import { deliveredRecord } from '../../../cluster/bus/delivered-record.ts';
import { Publisher } from '../../../cluster/bus/publisher.ts';
import { type Cancel, systemClock } from '../../../platform/clock.ts';
import { type TestBus, startBus } from '../../support/bus.ts';
import { until } from '../../support/until.ts';

const stream = 'MT_TXN';
/** Longer than a busy machine may stall. */
const patientMs = 20_000;

let test_: TestBus;
let publisher: Publisher;
const consumptions: Consumption[] = [];

beforeAll(async () => {
  test_ = await startBus();
  publisher = new Publisher(test_.bus);
});
afterAll(async () => {
  for (const each of consumptions) await each.stop();
  publisher.close();
  await test_.stop();
});

/** Consumes one record, as often as it is delivered. */
async function oneRecord(
  name: string,
  ackWaitMs: number,
  handle: (record: JsMsg, delivery: number) => void,
): Promise<void> {
  const consumer = {
    durable_name: name,
    filter_subject: `mt.txn.${name}.>`,
    ack_policy: AckPolicy.Explicit,
    ack_wait: nanos(ackWaitMs),
  };
  let delivery = 0;
  consumptions.push(
    await consumeStream(test_.bus, { stream, consumer, prefetch: 10, handle: (record) => handle(record, ++delivery) }),
  );
  expect((await publisher.publishOne(`mt.txn.${name}.0`, Buffer.from('one'), name)).ok).toBe(true);
}

const infoOf = (name: string): Promise<ConsumerInfo> => test_.bus.manager.consumers.info(stream, name);
const isAcked = async (name: string) => (await infoOf(name)).num_ack_pending === 0;

test('an ack ends it: nothing else is sent for it, and it is not delivered again', async () => {
  const deliveries: number[] = [];
  await oneRecord('acked', patientMs, (record, delivery) => {
    deliveries.push(delivery);
    const kept = deliveredRecord(record, test_.bus.connection);
    expect(kept.subject).toBe('mt.txn.acked.0');
    kept.ack();
    // Each of these would be a second answer to the server.
    const sent = test_.bus.connection.stats().outMsgs;
    kept.nak();
    kept.nak(10);
    kept.working();
    kept.ack();
    expect(test_.bus.connection.stats().outMsgs).toBe(sent);
  });
  await until('it is acked', async () => deliveries.length === 1 && (await isAcked('acked')));
});

test('after a nak it is delivered again, at once or after the delay', async () => {
  const atMs: number[] = [];
  await oneRecord('refused', patientMs, (record, delivery) => {
    atMs.push(systemClock.monotonicMs());
    const kept = deliveredRecord(record, test_.bus.connection);
    if (delivery === 1) kept.nak();
    else if (delivery === 2) kept.nak(400);
    else kept.ack();
  });
  await until('it is acked', async () => atMs.length === 3 && (await isAcked('refused')));
  const [first = 0, second = 0, third = 0] = atMs;
  // The ack wait would deliver it again, too, but later.
  expect(second - first).toBeLessThan(patientMs);
  expect(third - second).toBeGreaterThan(399);
  expect(third - second).toBeLessThan(patientMs);
});

test('while it is worked on it is not delivered again', async () => {
  const ackWaitMs = 2_000;
  let deliveries = 0;
  let stopWork: Cancel | undefined;
  const beganAtMs = systemClock.monotonicMs();
  await oneRecord('worked', ackWaitMs, (record, delivery) => {
    deliveries = delivery;
    const kept = deliveredRecord(record, test_.bus.connection);
    stopWork = systemClock.every(50, () => {
      kept.working();
      if (systemClock.monotonicMs() - beganAtMs > 1.5 * ackWaitMs) kept.ack();
    });
  });
  await until('it is acked', async () => deliveries > 0 && (await isAcked('worked')));
  stopWork?.();
  expect(deliveries).toBe(1);
});

test('after the end of the connection an ack goes nowhere, without an error', async () => {
  const bus = await connectBus(test_.nats.url, 'gone');
  let kept: ReturnType<typeof deliveredRecord> | undefined;
  await oneRecord('gone', patientMs, (record) => void (kept = deliveredRecord(record, bus.connection)));
  await until('it is delivered', () => kept !== undefined);
  await bus.close();
  kept?.working();
  kept?.ack();
  expect((await infoOf('gone')).num_ack_pending).toBe(1);
});
