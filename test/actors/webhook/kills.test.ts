// The delivery process is killed anywhere between an event and the receiver's 2xx: every event is sent, repeats have the
// webhook-id of the first, the events of a message keep their order, and an endpoint that was failing goes on where it
// was. Of two processes one delivers, and the other takes over when it is gone.
import { afterAll, beforeAll, expect, test } from 'vitest';
import { eventOfMessage } from '../../../model/delivery-event.ts';
import { type AccountId, newMessageId } from '../../../model/ids.ts';
import { systemClock } from '../../../platform/clock.ts';
import { limits } from '../../../platform/limits.ts';
import { messageWith } from '../../support/messages.ts';
import { until } from '../../support/until.ts';
import {
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

const messageOf = (accountId: AccountId) => messageWith({ accountId, messageId: newMessageId(systemClock.nowMs()) });
const idsOf = ({ received }: Receiver) => new Set(received.map(({ id }) => id));

test('kill -9 again and again under load: every event is sent, and repeats have the same webhook-id', async () => {
  const accountId = await putAccount(bus.bus);
  // Slow enough for many to be in flight at each kill; some answers are lost with the process.
  const receiver = await bus.receiver(async () => {
    await systemClock.sleep(20);
    return { status: 200 };
  });
  await putEndpoint(bus.bus, { accountId, url: receiver.url });
  const published: string[] = [];
  let kill = await startDelivery(bus.nats.url);
  for (let round = 0; round < 3; round += 1) {
    published.push(...(await bus.publishMany(accountId, 300)));
    await until('some of them', () => idsOf(receiver).size > round * 300 + 50);
    await kill();
    published.push(...(await bus.publishMany(accountId, 20)));
    kill = await startDelivery(bus.nats.url);
  }
  await until('all of them', () => published.every((id) => idsOf(receiver).has(id)));
  await until('nothing waits', () => isHandedOver(bus.bus));
  expect(idsOf(receiver)).toEqual(new Set(published));
  await kill();
});

test('kill -9 while an endpoint fails: it is not forgotten, and gets its line from the first event left', async () => {
  const accountId = await putAccount(bus.bus);
  // The first ones fail, and with them the endpoint; what comes by the schedule does not.
  const first = limits.delivery.failuresInARow;
  const receiver = await bus.receiver(async (_one, count) => {
    await systemClock.sleep(5);
    return { status: count <= first ? 500 : 200 };
  });
  await putEndpoint(bus.bus, { accountId, url: receiver.url });
  let kill = await startDelivery(bus.nats.url);
  const published = await bus.publishMany(accountId, 300);
  await until('it fails', () => receiver.received.length >= first);
  await until('some are parked', async () => (await waitingInLog(bus.bus)) > 0);
  await kill();
  kill = await startDelivery(bus.nats.url);
  await until('half of them', () => receiver.received.length > published.length / 2);
  await kill();
  kill = await startDelivery(bus.nats.url);
  await until('all of them', () => published.every((id) => idsOf(receiver).has(id)));
  await until('the line is empty', async () => (await waitingInLog(bus.bus)) === 0);
  await kill();
});

const kinds = ['submitted', 'unknown', 'delivered'] as const;
const inOrder = kinds.map((kind) => `sms.${kind}`);

test('kill -9 with ordering per_message: no event comes before the one before it was taken; nothing is lost', async () => {
  const accountId = await putAccount(bus.bus);
  const taken = new Map<string, string[]>();
  const early: string[] = [];
  const ids = new Map<string, Set<string>>();
  // Some requests are refused, and some are cut off by a kill after the receiver has taken them.
  const receiver = await bus.receiver(async ({ id, json: { type, data } }, count) => {
    const message = String(data['id']);
    const before = inOrder.slice(0, inOrder.indexOf(type));
    if (!before.every((each) => taken.get(message)?.includes(each))) early.push(`${type} of ${message}`);
    ids.set(`${type} ${message}`, (ids.get(`${type} ${message}`) ?? new Set()).add(id));
    await systemClock.sleep(4 + (count % 7));
    if (count % 97 === 0) return { status: 503 };
    taken.set(message, [...(taken.get(message) ?? []), type]);
    return { status: 200 };
  });
  await putEndpoint(bus.bus, { accountId, url: receiver.url, ordering: 'per_message' });
  const all: string[] = [];
  let kill = await startDelivery(bus.nats.url);
  for (let round = 0; round < 4; round += 1) {
    const messages = Array.from({ length: 100 }, () => messageOf(accountId));
    all.push(...messages.map(({ messageId }) => messageId as string));
    for (const kind of kinds) {
      const some = messages.map((message) => eventOfMessage(message, { kind, atMs: systemClock.nowMs() }));
      for (let at = 0; at < some.length; at += 20) await bus.events.publish(some.slice(at, at + 20));
    }
    // In the first rounds while it sends from memory, then from the line.
    const before = receiver.received.length;
    await until('some of them', () => receiver.received.length > before + 30);
    await kill();
    kill = await startDelivery(bus.nats.url);
  }
  await until('all of them', () => all.every((id) => inOrder.every((type) => taken.get(id)?.includes(type))), {
    limitMs: 120_000,
  });
  expect(early).toEqual([]);
  expect(Math.max(...[...ids.values()].map(({ size }) => size))).toBe(1);
  await kill();
}, 240_000);

test('kill -9 between batches: every event is sent, in batches, under the id it would have alone', async () => {
  const accountId = await putAccount(bus.bus);
  const receiver = await bus.receiver(async () => {
    await systemClock.sleep(30);
    return { status: 200 };
  });
  await putEndpoint(bus.bus, { accountId, url: receiver.url, batch: { max: 20, waitMs: 100 } });
  const inBatches = () =>
    new Set(receiver.received.flatMap(({ json }) => (json.data['events'] as { id: string }[]).map(({ id }) => id)));
  let kill = await startDelivery(bus.nats.url);
  const published: string[] = [];
  for (let round = 0; round < 3; round += 1) {
    const before = inBatches().size;
    published.push(...(await bus.publishMany(accountId, 400)));
    await until('some of them', () => inBatches().size > before + 60);
    await kill();
    kill = await startDelivery(bus.nats.url);
  }
  await until('all of them', () => published.every((id) => inBatches().has(id)));
  await until('nothing waits', () => isHandedOver(bus.bus));
  expect(inBatches()).toEqual(new Set(published));
  await kill();
});

test('of two processes one delivers; when it is killed the other takes over and sends everything', async () => {
  const accountId = await putAccount(bus.bus);
  const receiver = await bus.receiver(async () => {
    await systemClock.sleep(10);
    return { status: 200 };
  });
  await putEndpoint(bus.bus, { accountId, url: receiver.url });
  // Nodes of a cluster: none may think that it is alone.
  const ofNode = (name: string) => startDelivery(bus.nats.url, { HELIOGRAPH_OWN_BUS: 'no', HELIOGRAPH_NODE: name });
  const killFirst = await ofNode('one');
  const published = [...(await bus.publishMany(accountId, 50))];
  await until('the first one delivers', () => receiver.received.length > 0);
  const killSecond = await ofNode('two');
  published.push(...(await bus.publishMany(accountId, 300)));
  await until('some of them', () => receiver.received.length > 100);
  // While both run, nothing is sent twice: only one delivers.
  expect(idsOf(receiver).size).toBe(receiver.received.length);
  await killFirst();
  const killedAtMs = systemClock.monotonicMs();
  published.push(...(await bus.publishMany(accountId, 100)));
  await until('all of them', () => published.every((id) => idsOf(receiver).has(id)));
  const tookMs = systemClock.monotonicMs() - killedAtMs;
  expect(tookMs).toBeGreaterThan(limits.delivery.takenOverAfterMs / 2);
  await until('nothing waits', () => isHandedOver(bus.bus));
  expect(idsOf(receiver)).toEqual(new Set(published));
  await killSecond();
}, 120_000);
