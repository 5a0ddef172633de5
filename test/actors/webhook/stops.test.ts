// The delivery process stops and starts under load, and nats-server with it: a clean stop repeats nothing that was
// answered 2xx.
import { afterAll, beforeAll, expect, test } from 'vitest';
import { openBucket } from '../../../cluster/bus/ensure.ts';
import { streamNames } from '../../../cluster/bus/streams.ts';
import { readWebhookPlace, writeWebhookPlace } from '../../../cluster/bus/webhook-place.ts';
import { eventOfMessage } from '../../../model/delivery-event.ts';
import { type AccountId, newMessageId } from '../../../model/ids.ts';
import { systemClock } from '../../../platform/clock.ts';
import { messageWith } from '../../support/messages.ts';
import { until } from '../../support/until.ts';
import {
  type Received,
  type Receiver,
  type WebhookBus,
  putAccount,
  putEndpoint,
  startDelivery,
  startWebhookBus,
  isHandedOver,
  waitingInLog,
} from '../../support/webhooks.ts';

let bus: WebhookBus;
beforeAll(async () => {
  bus = await startWebhookBus();
});
afterAll(() => bus.stop());

/** Answers slowly enough for many requests to be in flight at a stop. */
function slowReceiver(): Promise<Receiver> {
  return bus.receiver(async () => {
    await systemClock.sleep(20);
    return { status: 200 };
  });
}

/** The ids of the events of requests, those in batches too. */
const eventIdsOf = (received: readonly Received[]) =>
  received.flatMap(({ id, json }) =>
    json.type === 'webhook.batch' ? (json.data['events'] as { id: string }[]).map((each) => each.id) : [id],
  );
const repeatedIn = (ids: readonly string[]) => ids.filter((id, at) => ids.indexOf(id) < at);

const allOf = (accountId: AccountId, count: number) =>
  Array.from({ length: count }, () => {
    const message = messageWith({ accountId, messageId: newMessageId(systemClock.nowMs()) });
    return eventOfMessage(message, { kind: 'delivered', atMs: systemClock.nowMs() });
  });
const hasAll = ({ received }: Receiver, published: readonly string[]) => {
  const ids = new Set(eventIdsOf(received));
  return published.every((id) => ids.has(id));
};

test('a clean stop under load: every event is sent once, whatever was in flight', async () => {
  const accountId = await putAccount(bus.bus);
  const [plain, ordered, batched] = [await slowReceiver(), await slowReceiver(), await slowReceiver()];
  await putEndpoint(bus.bus, { accountId, url: plain.url });
  await putEndpoint(bus.bus, { accountId, url: ordered.url, ordering: 'per_message' });
  await putEndpoint(bus.bus, { accountId, url: batched.url, batch: { max: 10, waitMs: 50 } });
  const endpoints = [plain, ordered, batched];
  const published: string[] = [];
  const publish = async (count: number) => {
    const all = allOf(accountId, count);
    published.push(...all.map(({ eventId }) => eventId as string));
    for (let at = 0; at < all.length; at += 10) await bus.events.publish(all.slice(at, at + 10));
  };
  let end = await startDelivery(bus.nats.url);
  for (let round = 0; round < 3; round += 1) {
    const before = endpoints.map(({ received }) => received.length);
    const publishing = publish(600);
    await until('some at each', () => endpoints.every(({ received }, at) => received.length > (before[at] ?? 0) + 20));
    expect(await end('SIGTERM')).toBe(0);
    await publishing;
    await bus.nats.restart();
    end = await startDelivery(bus.nats.url);
  }
  await until('all of them', () => endpoints.every((each) => hasAll(each, published)));
  await until('nothing waits', () => isHandedOver(bus.bus));
  await until('no line', async () => (await waitingInLog(bus.bus)) === 0);
  expect(endpoints.map(({ received }) => repeatedIn(eventIdsOf(received)).length)).toEqual([0, 0, 0]);
  await end();
}, 120_000);

test('a kill before the place was saved, and nats-server restarts: what waits is sent once', async () => {
  const accountId = await putAccount(bus.bus);
  const receiver = await bus.receiver();
  await putEndpoint(bus.bus, { accountId, url: receiver.url });
  const bucket = await openBucket(bus.bus, 'webhooks');
  const end = await startDelivery(bus.nats.url);
  await bus.events.publish(allOf(accountId, 1));
  await until('it is received', () => receiver.received.length === 1);
  const place = await until('the place is saved', () => readWebhookPlace(bucket));
  receiver.answer = () => null;
  const all = allOf(accountId, 60);
  await bus.events.publish(all);
  await until('all of them wait', async () => {
    const { state } = await bus.bus.manager.streams.info(streamNames.events);
    const now = await readWebhookPlace(bucket);
    return now?.pending.size === 1 && now.position.seq === state.last_seq;
  });
  await end();
  await writeWebhookPlace(bucket, place);
  await bus.nats.restart();
  const before = receiver.received.length;
  receiver.answer = () => ({ status: 200 });
  const endNext = await startDelivery(bus.nats.url);
  const published = all.map(({ eventId }) => eventId as string);
  await until('all of them', () =>
    published.every((id) => receiver.received.slice(before).some((each) => each.id === id)),
  );
  await until(
    'the place is after them',
    async () => ((await readWebhookPlace(bucket))?.position.seq ?? 0) > place.position.seq,
  );
  await until('nothing waits', () => isHandedOver(bus.bus));
  expect(repeatedIn(eventIdsOf(receiver.received.slice(before))).length).toBe(0);
  expect(await endNext('SIGTERM')).toBe(0);
});
