// The delivery process is killed anywhere between an event and the receiver's 2xx: every event is told, repeats have the
// webhook-id of the first, and an endpoint that was failing goes on where it was.
import { afterAll, beforeAll, expect, test } from 'vitest';
import { streamNames } from '../../../cluster/bus/streams.ts';
import { eventOfMessage } from '../../../model/delivery-event.ts';
import { type AccountId, newMessageId } from '../../../model/ids.ts';
import { systemClock } from '../../../platform/clock.ts';
import { startBus, type TestBus } from '../../support/bus.ts';
import { messageWith } from '../../support/messages.ts';
import { startRolesOf } from '../../support/role-child.ts';
import { until } from '../../support/until.ts';
import { type Receiver, eventPublisher, putAccount, putEndpoint, startReceiver } from '../../support/webhooks.ts';

let bus: TestBus;
let events: ReturnType<typeof eventPublisher>;
const receivers: Receiver[] = [];

beforeAll(async () => {
  bus = await startBus();
  events = eventPublisher(bus.bus);
});
afterAll(async () => {
  for (const receiver of receivers) await receiver.close();
  events.close();
  await bus.stop();
});

const startDelivery = () =>
  startRolesOf('delivery', bus.nats.url, { webhooks: { allowNetworks: ['127.0.0.0/8'], allowHttp: true } });
const eventOf = (accountId: AccountId) =>
  eventOfMessage(messageWith({ accountId, messageId: newMessageId(systemClock.nowMs()) }), {
    kind: 'delivered',
    atMs: systemClock.nowMs(),
  });
const waiting = async (stream: string) => (await bus.bus.manager.streams.info(stream)).state.messages;
const publishMany = async (accountId: AccountId, count: number) => {
  const all = Array.from({ length: count }, () => eventOf(accountId));
  for (let at = 0; at < all.length; at += 50) await events.publish(all.slice(at, at + 50));
  return all.map(({ eventId }) => eventId as string);
};
const idsOf = ({ received }: Receiver) => new Set(received.map(({ id }) => id));

test('kill -9 again and again under load: every event is told, and repeats have the same webhook-id', async () => {
  const accountId = await putAccount(bus.bus);
  // Slow enough for many to be in flight at each kill; some answers are lost with the process.
  const receiver = await startReceiver(async () => {
    await systemClock.sleep(20);
    return { status: 200 };
  });
  receivers.push(receiver);
  await putEndpoint(bus.bus, { accountId, url: receiver.url });
  const told: string[] = [];
  let kill = await startDelivery();
  for (let round = 0; round < 3; round += 1) {
    told.push(...(await publishMany(accountId, 300)));
    await until('some of them', () => idsOf(receiver).size > round * 300 + 50);
    await kill();
    told.push(...(await publishMany(accountId, 20)));
    kill = await startDelivery();
  }
  await until('all of them', () => told.every((id) => idsOf(receiver).has(id)));
  await until('nothing waits', async () => (await waiting(streamNames.webhooks)) === 0);
  expect(idsOf(receiver)).toEqual(new Set(told));
  await kill();
});

test('kill -9 while an endpoint fails: it is not forgotten, and gets its line from the first event left', async () => {
  const accountId = await putAccount(bus.bus);
  const receiver = await startReceiver(() => ({ status: 500 }));
  receivers.push(receiver);
  await putEndpoint(bus.bus, { accountId, url: receiver.url });
  let kill = await startDelivery();
  const told = await publishMany(accountId, 300);
  await until('they are parked', async () => (await waiting(streamNames.webhookLog)) === told.length);
  await kill();
  const tried = receiver.received.length;
  receiver.answer = async () => {
    await systemClock.sleep(5);
    return { status: 200 };
  };
  kill = await startDelivery();
  await until('half of them', () => receiver.received.length - tried > told.length / 2);
  await kill();
  kill = await startDelivery();
  await until('the line is empty', async () => (await waiting(streamNames.webhookLog)) === 0);
  expect(told.filter((id) => !idsOf(receiver).has(id))).toEqual([]);
  await kill();
});
