// Events from EVENTS to real receivers, through the real streams: which event is sent to which endpoint, and what
// becomes of endpoints that are slow, broken, or away while the process restarts.
import { afterAll, afterEach, beforeAll, expect, test } from 'vitest';
import { Webhook } from 'standardwebhooks';
import { streamNames } from '../../../cluster/bus/streams.ts';
import { type DeliveryEvent, eventOfMessage } from '../../../model/delivery-event.ts';
import { receivedEvent } from '../../../model/inbound-event.ts';
import { type AccountId, type MessageId, newMessageId } from '../../../model/ids.ts';
import type { Message } from '../../../model/message.ts';
import { bodyOctets } from '../../../model/records/message-record.ts';
import { type Clock, systemClock } from '../../../platform/clock.ts';
import { limits } from '../../../platform/limits.ts';
import { startBus, type TestBus } from '../../support/bus.ts';
import { messageWith } from '../../support/messages.ts';
import { until } from '../../support/until.ts';
import {
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
  // First: a stop waits some seconds for requests that hang.
  for (const receiver of receivers.splice(0)) await receiver.close();
  await running?.stop();
  running = null;
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

const messageOf = (accountId: AccountId, changes: Partial<Message> = {}): Message =>
  messageWith({ accountId, messageId: newMessageId(systemClock.nowMs()), ...changes });
const eventOf = (message: Message, kind: DeliveryEvent['kind'], segment = 1): DeliveryEvent =>
  eventOfMessage(message, { kind, atMs: systemClock.nowMs(), segment });
const idsOf = ({ received }: Receiver) => received.map(({ json }) => json.data['id']);
const allDone = () =>
  until('nothing waits', async () => (await isHandedOver(bus.bus)) && (await waitingInLog(bus.bus)) === 0);

/** Starts, and waits until an event that is published now is delivered. */
async function start(...given: Parameters<typeof runWebhooks> extends [unknown, ...infer Rest] ? Rest : never) {
  running = await runWebhooks(bus.bus, ...given);
  await until('it delivers', () => running?.node.state === 'delivers');
}

test('an event is sent once, signed, with the message as clients know it', async () => {
  const accountId = await putAccount(bus.bus);
  const hook = await receiver();
  const { secret } = await putEndpoint(bus.bus, { accountId, url: hook.url });
  await start();
  const message = messageOf(accountId, { clientReference: 'order-7' });
  const submitted = eventOf(message, 'submitted');
  const delivered = eventOf(message, 'delivered');
  await events.publish([eventOf(message, 'intent'), submitted, delivered, delivered]);
  await until('two events', () => hook.received.length === 2);
  await allDone();
  expect(hook.received.map(({ json }) => json.type)).toEqual(
    expect.arrayContaining(['sms.submitted', 'sms.delivered']),
  );
  const one = hook.received.find(({ json }) => json.type === 'sms.delivered');
  expect(one?.id).toBe(delivered.eventId);
  expect(new Webhook(secret).verify(one?.body ?? '', one?.headers ?? {})).toMatchObject({
    type: 'sms.delivered',
    timestamp: new Date(delivered.atMs).toISOString(),
    data: {
      id: message.messageId,
      object: 'sms',
      status: 'delivered',
      to: message.recipient,
      from: message.sender,
      client_reference: 'order-7',
      livemode: true,
      sequence: expect.any(Number),
    },
  });
  const [first = 0, second = 0] = hook.received
    .toSorted((a, b) => (a.json.type === 'sms.submitted' ? -1 : b.json.type === 'sms.submitted' ? 1 : 0))
    .map(({ json }) => Number(json.data['sequence']));
  expect(first).toBeLessThan(second);
  expect(hook.received).toHaveLength(2);
});

test('only what an endpoint subscribes to, of its account and mode; a callback goes to its own URL', async () => {
  const [accountId, other] = [await putAccount(bus.bus), await putAccount(bus.bus)];
  const [all, failures, testOnly, others] = [await receiver(), await receiver(), await receiver(), await receiver()];
  const { entry } = await putEndpoint(bus.bus, { accountId, url: all.url });
  await putEndpoint(bus.bus, { accountId, url: failures.url, events: ['sms.undelivered'] });
  await putEndpoint(bus.bus, { accountId, url: testOnly.url, livemode: false });
  await putEndpoint(bus.bus, { accountId: other, url: others.url });
  await start();
  const [one, two, three] = [messageOf(accountId), messageOf(accountId, { livemode: false }), messageOf(other)];
  const url = `${all.url}/own`;
  const four = messageOf(accountId, { callback: { endpointId: entry.id, url } });
  await events.publish([
    eventOf(one, 'undelivered'),
    eventOf(two, 'delivered'),
    eventOf(three, 'delivered'),
    eventOf(four, 'delivered'),
  ]);
  await until('all of them', () => receivers.every(({ received }) => received.length > 0));
  await allDone();
  const [own, usual] = [true, false].map((isOwn) => all.received.filter(({ path }) => path.endsWith('/own') === isOwn));
  expect(own?.map(({ json }) => json.data['id'])).toEqual([four.messageId]);
  expect(usual?.map(({ json }) => json.data['id'])).toEqual([one.messageId]);
  expect(idsOf(failures)).toEqual([one.messageId]);
  expect(idsOf(testOnly)).toEqual([two.messageId]);
  expect(idsOf(others)).toEqual([three.messageId]);
});

test('a callback_url of an origin that its endpoint does not have any more gets nothing: the present URL of the endpoint does', async () => {
  const accountId = await putAccount(bus.bus);
  const [former, present] = [await receiver(), await receiver()];
  const { entry } = await putEndpoint(bus.bus, { accountId, url: former.url, events: [] });
  await start();
  const callback = { endpointId: entry.id, url: `${former.url}/own` };
  const publish = (message = messageOf(accountId, { callback })) => events.publish([eventOf(message, 'delivered')]);
  await publish();
  await until('it was sent', () => former.received.length === 1);
  await putEndpoint(bus.bus, { ...entry, url: present.url });
  // It is known within a second or two.
  await until('the present URL gets one', async () => {
    const count = former.received.length + present.received.length;
    await publish();
    await until('it was sent', () => former.received.length + present.received.length > count);
    return present.received.length > 0;
  });
  const before = former.received.length;
  await publish();
  await until('it was sent', () => present.received.length === 2);
  expect(former.received).toHaveLength(before);
  expect(new Set(present.received.map(({ path }) => path))).toEqual(new Set(['/hook']));
});

test("a subscriber's text arrives in clear and is sealed in the streams", async () => {
  const accountId = await putAccount(bus.bus);
  const hook = await receiver(() => ({ status: 500 }));
  await putEndpoint(bus.bus, { accountId, url: hook.url, events: ['sms.received'] });
  await start();
  const messageId = newMessageId(systemClock.nowMs());
  const origin = {
    ...{ messageId, accountId, carrier: 'alpha', clientNumber: '21300', subscriber: '+8801712345678' },
    ...{ livemode: true, receivedAtMs: systemClock.nowMs() },
  };
  const sealedBody = webhookCipher.seal(bodyOctets({ text: 'my secret text' }), messageId);
  const inbound = { sealedBody, keepBody: false, keyword: null, parts: 1 };
  await events.publish([receivedEvent(origin, { encoding: 'gsm7', segments: 1, inbound })]);
  await until('a try', () => hook.received.length === 1);
  await running?.stop();
  const { state } = await bus.bus.manager.streams.info(streamNames.webhookLog);
  const stored = await bus.bus.manager.streams.getMessage(streamNames.webhookLog, { seq: state.first_seq });
  expect(Buffer.from(stored?.data ?? []).includes(messageId)).toBe(true);
  expect(Buffer.from(stored?.data ?? []).includes('my secret')).toBe(false);
  hook.answer = () => ({ status: 200 });
  await start();
  await allDone();
  expect(hook.received.at(-1)?.json).toMatchObject({
    type: 'sms.received',
    data: { direction: 'inbound', text: 'my secret text', to: '21300', from: '+8801712345678' },
  });
  // Every try has the same id.
  expect(new Set(hook.received.map(({ id }) => id)).size).toBe(1);
});

test('a dead endpoint costs a try now and then, and gets everything in order when it is back', async () => {
  const accountId = await putAccount(bus.bus);
  // All that are sent at first fail; what comes by the schedule, five seconds later, does not.
  const first = limits.delivery.failuresInARow;
  const dead = await receiver((_one, count) => ({ status: count <= first ? 500 : 200 }));
  const healthy = await receiver();
  const { entry } = await putEndpoint(bus.bus, { accountId, url: dead.url });
  await putEndpoint(bus.bus, { accountId, url: healthy.url });
  await start();
  const all = Array.from({ length: 200 }, () => eventOf(messageOf(accountId), 'delivered'));
  for (let at = 0; at < all.length; at += 20) await events.publish(all.slice(at, at + 20));
  await until('the healthy one has all', () => healthy.received.length === all.length);
  await allDone();
  const got = new Map(dead.received.slice(first).map(({ id, json }) => [id, Number(json.data['sequence'])]));
  expect(new Set(got.keys())).toEqual(new Set(all.map(({ eventId }) => eventId)));
  expect(entry.id).toMatch(/^whe_/);
  await until('its state is gone', async () => {
    const { state } = await bus.bus.manager.streams.info('KV_webhooks', { subjects_filter: '$KV.webhooks.failing.*' });
    return Object.keys(state.subjects ?? {}).length <= 1;
  });
});

test('an endpoint that hangs takes nothing from the others', async () => {
  const accountId = await putAccount(bus.bus);
  const healthy = await receiver();
  // No request to the other one ends while the test runs: it says now and then that it works on it, which begins the
  // time for the first octet again, and the time for a whole request does not end.
  const hangs = await receiver(() => 'working');
  const { totalMs, concurrencyFirst } = limits.delivery;
  const after: Clock['after'] = (delayMs, run) => (delayMs === totalMs ? () => {} : systemClock.after(delayMs, run));
  await putEndpoint(bus.bus, { accountId, url: hangs.url });
  await putEndpoint(bus.bus, { accountId, url: healthy.url });
  await start({ clock: { ...systemClock, after } });
  const all = Array.from({ length: 300 }, () => eventOf(messageOf(accountId), 'delivered'));
  await events.publish(all);
  await until('the healthy one has all', () => healthy.received.length === all.length);
  expect(hangs.received.length).toBe(concurrencyFirst);
});

test('events of a process that is gone are sent by the next one, under the same ids', async () => {
  const accountId = await putAccount(bus.bus);
  const hook = await receiver(() => null);
  await putEndpoint(bus.bus, { accountId, url: hook.url });
  await start();
  const all = Array.from({ length: 100 }, () => eventOf(messageOf(accountId), 'delivered'));
  await events.publish(all);
  await until('some are on their way', () => hook.received.length >= limits.delivery.concurrencyFirst);
  await running?.stop();
  hook.answer = () => ({ status: 200 });
  await start();
  await allDone();
  const ids = new Set(hook.received.map(({ id }) => id));
  expect(ids).toEqual(new Set(all.map(({ eventId }) => eventId)));
});

test('of several segments the last one is sent, whatever their order', async () => {
  const accountId = await putAccount(bus.bus);
  const hook = await receiver();
  await putEndpoint(bus.bus, { accountId, url: hook.url });
  await start();
  const message = messageOf(accountId, { segments: 3 });
  const [s1, s2, s3] = [1, 2, 3].map((segment) => eventOf(message, 'submitted', segment)) as [
    DeliveryEvent,
    DeliveryEvent,
    DeliveryEvent,
  ];
  const done = [3, 1, 2].map((segment) => eventOf(message, 'delivered', segment));
  await events.publish([eventOf(message, 'intent', 0), s1, s3, s2, ...done]);
  await until('two events', () => hook.received.length === 2);
  await allDone();
  expect(new Set(hook.received.map(({ id }) => id))).toEqual(new Set([s2.eventId, done[2]?.eventId]));
});

test('a disabled endpoint is not called, and gets what it missed when it is enabled', async () => {
  const accountId = await putAccount(bus.bus);
  const hook = await receiver();
  const { entry } = await putEndpoint(bus.bus, {
    accountId,
    url: hook.url,
    status: 'disabled',
    disabledReason: 'client',
  });
  await start();
  await events.publish([eventOf(messageOf(accountId), 'delivered')]);
  await until('it is parked', async () => (await waitingInLog(bus.bus)) === 1);
  expect(hook.received).toHaveLength(0);
  await putEndpoint(bus.bus, { ...entry, status: 'enabled', disabledReason: null });
  await until('it is received', () => hook.received.length === 1);
  await allDone();
});

test('an event that an endpoint refuses is tried again beside others that it takes', async () => {
  const accountId = await putAccount(bus.bus);
  const poison = messageOf(accountId);
  const hook = await receiver(({ json }) => ({ status: json.data['id'] === poison.messageId ? 422 : 200 }));
  await putEndpoint(bus.bus, { accountId, url: hook.url });
  await start();
  const others: MessageId[] = [];
  await events.publish([eventOf(poison, 'delivered')]);
  await until('it is kept for its next try', async () => {
    const message = messageOf(accountId);
    others.push(message.messageId);
    await events.publish([eventOf(message, 'delivered')]);
    await until('another one passes', () => idsOf(hook).includes(message.messageId));
    return (
      (await bus.bus.manager.streams.info(streamNames.webhookLog, { subjects_filter: 'whr.>' })).state.subjects !==
      undefined
    );
  });
  expect(idsOf(hook).filter((id) => id === poison.messageId)).toHaveLength(2);
  await until('all are handed over', () => isHandedOver(bus.bus));
});
