// Webhooks in the running system: an endpoint is registered over the API, a message is sent over HTTP, and a receiver on
// loopback, which this operator allows, gets what became of it, signed. Killed in between, everything is sent all the
// same.
import { afterAll, beforeAll, expect, test } from 'vitest';
import { Webhook } from 'standardwebhooks';
import { systemClock } from '../../platform/clock.ts';
import { until } from '../support/until.ts';
import { type Receiver, startReceiver } from '../support/webhooks.ts';
import { type SystemHarness, openSystemHarness } from '../support/system-harness.ts';

let harness: SystemHarness;
let receiver: Receiver;
let secret = '';
let endpointId = '';

beforeAll(async () => {
  const configured = (text: string) => `${text}\nwebhooks: { allow_networks: [127.0.0.0/8], allow_http: true }\n`;
  [harness, receiver] = await Promise.all([openSystemHarness({ configured }), startReceiver()]);
});
afterAll(async () => {
  await receiver?.close();
  await harness?.stop();
});

type Json = Record<string, any>;
async function call(method: string, path: string, body?: object): Promise<{ status: number; json: Json }> {
  const { httpPort, keys } = harness.system;
  const headers = { authorization: `Bearer ${keys.liveKey}`, 'content-type': 'application/json' };
  const reply = await fetch(`http://127.0.0.1:${httpPort}${path}`, {
    method,
    headers,
    ...(body === undefined ? {} : { body: JSON.stringify(body) }),
  });
  const text = await reply.text();
  return { status: reply.status, json: text === '' ? {} : (JSON.parse(text) as Json) };
}

const send = async (reference: string, more: object = {}) => {
  const body = { to: '+8801712345678', from: 'HELIOGRAPH', message: 'hello', client_reference: reference, ...more };
  const { status, json } = await call('POST', '/v1/sms', body);
  expect([status, json['code'] ?? '']).toEqual([202, '']);
  return json['id'] as string;
};
const toldOf = (id: string) =>
  receiver.received.filter(({ json }) => json.data['id'] === id).map(({ json }) => json.type);
const isDelivered = (id: string) => toldOf(id).includes('sms.delivered');

test('the events of a message sent over HTTP go to a registered endpoint, signed', async () => {
  const made = await call('POST', '/v1/webhooks', { url: receiver.url, events: ['*'] });
  expect(made.status).toBe(201);
  secret = made.json['secret'] as string;
  endpointId = made.json['id'] as string;
  const id = await send('first');
  await until('both are reported', () => toldOf(id).length === 2);
  expect(toldOf(id).toSorted()).toEqual(['sms.delivered', 'sms.submitted']);
  for (const { body, headers } of receiver.received)
    expect(() => new Webhook(secret).verify(body, headers)).not.toThrow();
});

test('a test event, the attempts, and an event again', async () => {
  const tested = await call('POST', `/v1/webhooks/${endpointId}/test`);
  expect(tested.json).toMatchObject({ succeeded: true, status: 204, type: 'webhook.test' });
  const { json } = await call('GET', `/v1/webhooks/${endpointId}/deliveries`);
  expect(json['data'][0]).toMatchObject({ id: tested.json['id'], succeeded: true });
  expect(json).toMatchObject({ health: { failing_since: null }, waiting: 0 });

  const first = receiver.received.find(({ json: { type } }) => type === 'sms.delivered');
  await harness.system.recorded();
  const before = receiver.received.length;
  await until('the event is in the history', async () => {
    const { json: one } = await call('POST', `/v1/webhooks/${endpointId}/replay`, { event_id: first?.id });
    return one['events'] === 1;
  });
  await until('the event again', () => receiver.received.length === before + 1);
  expect(receiver.received.at(-1)).toMatchObject({ id: first?.id, json: first?.json });
  const since = new Date(systemClock.nowMs() - 600_000).toISOString();
  const all = await call('POST', `/v1/webhooks/${endpointId}/replay`, { since });
  expect(all.json).toMatchObject({ events: 2 });
  await until('both again', () => receiver.received.length === before + 3);
});

test('kill -9 of the delivery process, and of nats-server: every event is sent', async () => {
  const ids: string[] = [];
  for (const child of ['delivery', 'nats-server']) {
    for (let count = 0; count < 20; count += 1) ids.push(await send(`${child} ${count}`));
    await harness.system.kill9(child);
    ids.push(await send(`after ${child}`).catch(() => send(`after ${child}`)));
  }
  await until('all are reported', () => ids.every(isDelivered));
});
