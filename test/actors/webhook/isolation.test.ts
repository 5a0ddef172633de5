// What accounts share is shared: an account whose endpoints hang, or that gets more than its share of memory, takes
// nothing from another one; and receivers that never end cost as many sockets as they may have.
import net from 'node:net';
import { afterAll, afterEach, beforeAll, expect, test } from 'vitest';
import { streamNames } from '../../../cluster/bus/streams.ts';
import { eventOfMessage } from '../../../model/delivery-event.ts';
import { type AccountId, newMessageId } from '../../../model/ids.ts';
import { systemClock } from '../../../platform/clock.ts';
import { limits } from '../../../platform/limits.ts';
import { defaultShares } from '../../../platform/limits-shares.ts';
import { metrics } from '../../../platform/telemetry.ts';
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
async function start(shares = defaultShares): Promise<void> {
  running = await runWebhooks(bus.bus, { shares });
  await until('it delivers', () => running?.node.state === 'delivers');
}
const eventOf = (accountId: AccountId) =>
  eventOfMessage(messageWith({ accountId, messageId: newMessageId(systemClock.nowMs()) }), {
    kind: 'delivered',
    atMs: systemClock.nowMs(),
  });
async function publishMany(accountId: AccountId, count: number): Promise<void> {
  const all = Array.from({ length: count }, () => eventOf(accountId));
  for (let at = 0; at < all.length; at += 50) await events.publish(all.slice(at, at + 50));
}

test('an account whose endpoints all hang has its requests at once, and another account gets its events at once', async () => {
  const [slow, other] = [await putAccount(bus.bus), await putAccount(bus.bus)];
  // At the same host, as with an integration service.
  const hook = await receiver(({ path }) => (path.startsWith('/hook/') ? null : { status: 204 }));
  const hanging = () => hook.received.filter(({ path }) => path.startsWith('/hook/')).length;
  for (let count = 0; count < 30; count += 1)
    await putEndpoint(bus.bus, { accountId: slow, url: `${hook.url}/${count}` });
  await putEndpoint(bus.bus, { accountId: other, url: hook.url });
  const perAccount = 40;
  await start({ ...defaultShares, webhook_requests: { total: 80, perAccount, reserve: 0 } });
  await publishMany(slow, 20);
  await until('the slow account has its share in flight', () => hanging() === perAccount);
  await publishMany(other, 200);
  await until('the other one has its events', () => hook.received.length - hanging() === 200, { limitMs: 8_000 });
  expect(hanging()).toBe(perAccount);
});

test('an account whose receivers refuse has fewer requests in flight, also after a pause without any', async () => {
  const [accountId, other] = [await putAccount(bus.bus), await putAccount(bus.bus)];
  const [busy, hanging, hook] = [await receiver(() => ({ status: 503 })), await receiver(() => null), await receiver()];
  // 64 at first; 64 × 0.75⁵ is below 16, the least.
  for (let count = 0; count < 5; count += 1)
    await putEndpoint(bus.bus, { accountId, url: `${busy.url}/${count}`, events: ['sms.failed'] });
  for (let count = 0; count < 30; count += 1)
    await putEndpoint(bus.bus, { accountId, url: `${hanging.url}/${count}`, events: ['sms.delivered'] });
  await putEndpoint(bus.bus, { accountId: other, url: hook.url });
  await start();
  const failedNow = eventOfMessage(messageWith({ accountId, messageId: newMessageId(systemClock.nowMs()) }), {
    kind: 'failed',
    atMs: systemClock.nowMs(),
  });
  await events.publish([failedNow]);
  const inFlight = async () => {
    const { values } = await metrics.sharedBoundUsed.get();
    return values.find(({ labels }) => labels.bound === 'webhook_requests')?.value;
  };
  await until(
    'each has refused it, and nothing is in flight',
    async () => busy.received.length === 5 && (await inFlight()) === 0,
  );
  await publishMany(accountId, 4);
  // Events are handed over in order: when the other account has its second one, all of these had their turn.
  for (let count = 1; count <= 2; count += 1) {
    await publishMany(other, 1);
    await until('the other account has its event', () => hook.received.length === count);
  }
  // 30 endpoints would have 64 by the first number, and all of them 120 by their own. That of the other account may not be over.
  const { accountConcurrencyMin } = limits.delivery;
  expect(await inFlight()).toBeLessThanOrEqual(accountConcurrencyMin + 1);
  await until('as many as may be', () => hanging.received.length >= accountConcurrencyMin);
});

test('an account with more events than its share of memory has the rest in its line; nothing is lost, others pass', async () => {
  const [loud, other] = [await putAccount(bus.bus), await putAccount(bus.bus)];
  const [slow, hook] = [await receiver(() => null), await receiver()];
  const { entry } = await putEndpoint(bus.bus, { accountId: loud, url: slow.url });
  await putEndpoint(bus.bus, { accountId: other, url: hook.url });
  const perAccount = 50;
  await start({ ...defaultShares, webhook_held: { total: 2 * perAccount, perAccount, reserve: 0 } });
  await publishMany(loud, perAccount);
  await until('it has requests in flight', () => slow.received.length === limits.delivery.concurrencyFirst);
  expect(await waitingInLog(bus.bus)).toBe(0);
  const more = 950;
  await publishMany(loud, more);
  await publishMany(other, 100);
  await until('the other one has its events', () => hook.received.length === 100, { limitMs: 8_000 });
  // With the first one that has no place in memory all that has goes to the line.
  await until('all of them wait there', async () => (await waitingInLog(bus.bus)) === perAccount + more);
  slow.answer = () => ({ status: 200 });
  // The requests that hang end with its first 2xx: a changed URL is tried at once.
  await putEndpoint(bus.bus, { ...entry, url: `${slow.url}/again` });
  const again = () => new Set(slow.received.filter(({ path }) => path.endsWith('/again')).map(({ id }) => id));
  const inFlight = limits.delivery.concurrencyFirst;
  await until('everything of the loud one', () => again().size >= perAccount + more - inFlight);
});

test.each([
  ['headers for ever', 'HTTP/1.1 200 OK\r\n', 'X-A: b\r\n'],
  ['1xx for ever', '', 'HTTP/1.1 102 Processing\r\n\r\n'],
  ['a body for ever', 'HTTP/1.1 500 No\r\nContent-Length: 10000000000\r\n\r\n', 'x'],
])('a receiver that sends %s costs its few sockets, however many events it gets', async (_what, head, more) => {
  let [open, most, requests] = [0, 0, 0];
  const sockets = new Set<net.Socket>();
  const server = net.createServer((socket) => {
    open += 1;
    most = Math.max(most, open);
    sockets.add(socket);
    socket.on('error', () => socket.destroy());
    socket.on('close', () => {
      open -= 1;
      sockets.delete(socket);
    });
    socket.once('data', () => {
      requests += 1;
      socket.write(head);
      socket.on(
        'close',
        systemClock.every(20, () => socket.write(more)),
      );
    });
  });
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  try {
    const accountId = await putAccount(bus.bus);
    const hook = await receiver();
    await putEndpoint(bus.bus, { accountId, url: `http://127.0.0.1:${(server.address() as net.AddressInfo).port}/` });
    await putEndpoint(bus.bus, { accountId, url: hook.url });
    await start();
    await publishMany(accountId, 300);
    await until('requests of it', () => requests >= limits.delivery.concurrencyFirst);
    await until('the other one has all', () => hook.received.length === 300, { limitMs: 8_000 });
    await running?.stop();
    running = null;
    await until('every socket is closed', () => open === 0);
    expect(most).toBeLessThanOrEqual(limits.delivery.concurrencyFirst);
  } finally {
    for (const socket of sockets) socket.destroy();
    await new Promise((resolve) => server.close(resolve));
  }
});

test.each(['none', 'per_message'] as const)(
  'an endpoint with all requests of its account in flight gets no further one for as long as it asks for (%s)',
  async (ordering) => {
    const [perAccount, asksAt, count] = [4, 40, 400];
    const accountId = await putAccount(bus.bus);
    const hook = await receiver(async (_request, nth) => {
      if (nth === asksAt) return { status: 429, headers: { 'retry-after': '60' } };
      await systemClock.sleep(10);
      return { status: 200 };
    });
    await putEndpoint(bus.bus, { accountId, url: hook.url, ordering });
    await start({ ...defaultShares, webhook_requests: { total: 100, perAccount, reserve: 0 } });
    await publishMany(accountId, count);
    const sentMost = asksAt + perAccount;
    await until('the others wait', async () => (await waitingInLog(bus.bus)) >= count - sentMost);
    expect(hook.received.length).toBeLessThanOrEqual(sentMost);
  },
);
