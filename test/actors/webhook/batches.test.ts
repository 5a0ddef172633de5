// Several events in one request, and the order of a message's events, through the real streams to real receivers.
import { afterAll, afterEach, beforeAll, expect, test } from 'vitest';
import { Webhook } from 'standardwebhooks';
import { readAttempts } from '../../../actors/webhook/attempts/read-attempts.ts';
import { streamNames } from '../../../cluster/bus/streams.ts';
import { type DeliveryEvent, eventOfMessage } from '../../../model/delivery-event.ts';
import { type AccountId, newMessageId } from '../../../model/ids.ts';
import type { Message } from '../../../model/message.ts';
import { systemClock } from '../../../platform/clock.ts';
import { limits } from '../../../platform/limits.ts';
import { startBus, type TestBus } from '../../support/bus.ts';
import { messageWith } from '../../support/messages.ts';
import { until } from '../../support/until.ts';
import {
  type Received,
  type Receiver,
  type RunningWebhooks,
  eventPublisher,
  putAccount,
  putEndpoint,
  runWebhooks,
  startReceiver,
  webhookCipher,
  isHandedOver,
  waitingInLog,
} from '../../support/webhooks.ts';

let bus: TestBus;
let events: ReturnType<typeof eventPublisher>;
let running: RunningWebhooks | null = null;
const receivers: Receiver[] = [];

beforeAll(async () => {
  bus = await startBus();
  events = eventPublisher(bus.bus);
});
afterEach(async () => {
  await running?.stop();
  running = null;
  for (const receiver of receivers.splice(0)) await receiver.close();
  await bus.bus.manager.streams.purge(streamNames.webhookLog);
});
afterAll(async () => {
  events.close();
  await bus.stop();
});

async function receiver(...given: Parameters<typeof startReceiver>): Promise<Receiver> {
  const made = await startReceiver(...given);
  receivers.push(made);
  return made;
}
async function start(): Promise<void> {
  running = await runWebhooks(bus.bus);
  await until('it delivers', () => running?.node.state === 'delivers');
}
const messageOf = (accountId: AccountId, changes: Partial<Message> = {}): Message =>
  messageWith({ accountId, messageId: newMessageId(systemClock.nowMs()), ...changes });
const eventOf = (message: Message, kind: DeliveryEvent['kind']): DeliveryEvent =>
  eventOfMessage(message, { kind, atMs: systemClock.nowMs() });
const allDone = () =>
  until('nothing waits', async () => (await isHandedOver(bus.bus)) && (await waitingInLog(bus.bus)) === 0);

type InBatch = { readonly id: string; readonly type: string; readonly data: { readonly id: string } };
const eventsIn = ({ json }: Received) => json.data['events'] as readonly InBatch[];

test('events come in batches, signed, each with the id it would have alone; the last ones after their wait', async () => {
  const accountId = await putAccount(bus.bus);
  const [hook, alone] = [await receiver(), await receiver()];
  const batch = { max: 10, waitMs: 300 };
  const { entry, secret } = await putEndpoint(bus.bus, { accountId, url: hook.url, batch });
  await putEndpoint(bus.bus, { accountId, url: alone.url });
  await start();
  const all = Array.from({ length: 25 }, () => eventOf(messageOf(accountId), 'delivered'));
  await events.publish(all);
  await until('all of them', () => hook.received.flatMap(eventsIn).length === all.length);
  await allDone();
  const sizes = hook.received.map((each) => eventsIn(each).length);
  expect(Math.max(...sizes)).toBe(batch.max);
  expect(sizes.toSorted((one, other) => one - other)).toEqual([5, 10, 10]);
  for (const each of hook.received) {
    expect(() => new Webhook(secret).verify(each.body, each.headers)).not.toThrow();
    expect(each.id).toMatch(/^evb_[\w-]{22}$/);
    expect(each.json).toMatchObject({ type: 'webhook.batch', data: { object: 'webhook_batch' } });
  }
  expect(new Set(hook.received.map(({ id }) => id)).size).toBe(3);
  // Inside is what the other endpoint got, one request each.
  await until('the other one has all', () => alone.received.length === all.length);
  const singly = new Map(alone.received.map(({ id, json }) => [id, json as object]));
  for (const { id, ...event } of hook.received.flatMap(eventsIn)) expect(event).toEqual(singly.get(id));
  await allDone();
  await running?.stop();
  running = null;
  const asked = { before: null, limit: 10, succeeded: null, error: null, eventId: all[0]?.eventId ?? '' };
  const of = { accountId, endpointId: entry.id };
  const { attempts } = await readAttempts(bus.bus, webhookCipher, of, {
    ...asked,
    ...{ type: 'webhook.batch', sinceMs: null, untilMs: null },
  });
  expect(attempts).toHaveLength(1);
  expect(attempts[0]?.eventIds).toContain(all[0]?.eventId);
});

test('a batch is tried again as a whole, under its own id, also when the endpoint fails with it', async () => {
  const accountId = await putAccount(bus.bus);
  const first = limits.delivery.failuresInARow;
  const hook = await receiver((_one, count) => ({ status: count <= first ? 500 : 200 }));
  await putEndpoint(bus.bus, { accountId, url: hook.url, batch: { max: 5, waitMs: 50 } });
  await start();
  const all = Array.from({ length: 40 }, () => eventOf(messageOf(accountId), 'delivered'));
  await events.publish(all);
  const taken = () => hook.received.slice(first);
  await until(
    'all are taken',
    () =>
      new Set(
        taken()
          .flatMap(eventsIn)
          .map(({ id }) => id),
      ).size === all.length,
  );
  await allDone();
  expect(taken().flatMap(eventsIn)).toHaveLength(all.length);
  const idsOf = (each: Received) => eventsIn(each).map(({ id }) => id);
  for (const refused of hook.received.slice(0, first)) {
    const again = taken().find(({ id }) => id === refused.id);
    expect(again && idsOf(again)).toEqual(idsOf(refused));
  }
});

test('per message: the events of each in order, several messages at a time, from memory and from the line', async () => {
  const accountId = await putAccount(bus.bus);
  let [open, most] = [0, 0];
  const hook = await receiver(async () => {
    open += 1;
    most = Math.max(most, open);
    await systemClock.sleep(2);
    open -= 1;
    return { status: 200 };
  });
  await putEndpoint(bus.bus, { accountId, url: hook.url, ordering: 'per_message' });
  await start();
  // More than memory takes: the line is used.
  const messages = Array.from({ length: 150 }, () => messageOf(accountId));
  for (const kind of ['submitted', 'unknown', 'delivered'] as const)
    await events.publish(messages.map((message) => eventOf(message, kind)));
  await until('all of them', () => hook.received.length >= messages.length * 3);
  await allDone();
  expect(hook.received).toHaveLength(messages.length * 3);
  expect(most).toBeGreaterThan(1);
  for (const { messageId } of messages) {
    const types = hook.received.filter(({ json }) => json.data['id'] === messageId).map(({ json }) => json.type);
    expect(types).toEqual(['sms.submitted', 'sms.unknown', 'sms.delivered']);
  }
});
