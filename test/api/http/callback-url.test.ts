// callback_url on POST /v1/sms and in batches, against a real ingress process: what it is and for whom is decided by the
// account's endpoints in the directory, and it is carried in the message and in every event of it.
import { afterAll, beforeAll, beforeEach, describe, expect, test } from 'vitest';
import type { WebhookEntry } from '../../../directory/contract.ts';
import { tenantEntities } from '../../../directory/tenant-entities.ts';
import { bodyCipher } from '../../../model/records/body-cipher.ts';
import { decodeEvents } from '../../../model/records/event-record.ts';
import { type AccountId, type WebhookEndpointId, newWebhookEndpointId } from '../../../model/ids.ts';
import { sealWebhookSecrets } from '../../../model/webhook-secrets.ts';
import type { WebhookEndpoint } from '../../../model/webhook-endpoint.ts';
import { systemClock } from '../../../platform/clock.ts';
import { limits } from '../../../platform/limits.ts';
import { until } from '../../support/until.ts';
import { type Harness, type Ingress, type Tenant, bodyKey, call, goodBody, openHarness, post } from './harness.ts';

let harness: Harness;
let ingress: Ingress;
let tenant: Tenant;
const ids: Record<string, WebhookEndpointId> = {};

beforeAll(async () => {
  harness = await openHarness();
  tenant = await harness.tenant();
  ingress = await harness.ingress();
  const stranger = await harness.tenant();
  ids['live'] = await register(tenant, { url: 'https://shop.example:8443/hooks' });
  ids['later'] = await register(tenant, { url: 'https://shop.example:8443/other', events: [] });
  ids['test'] = await register(tenant, { url: 'http://shop.example/hooks', livemode: false });
  ids['off'] = await register(tenant, { url: 'https://off.example/', status: 'disabled', disabledReason: 'failing' });
  await register(stranger, { url: 'https://stranger.example/' });
});
afterAll(() => harness?.stop());
beforeEach(async () => {
  for (const stream of ['MT_TXN', 'SCHEDULED']) await harness.bus.manager.streams.purge(stream);
});

let made = 1_700_000_000_000;
async function register(of: Tenant, fields: Partial<WebhookEndpoint>): Promise<WebhookEndpointId> {
  const id = newWebhookEndpointId((made += 1));
  const accountId = of.accountId as AccountId;
  const entry: WebhookEntry = {
    v: 1,
    id,
    accountId,
    livemode: true,
    url: '',
    events: ['*'],
    ordering: 'none',
    batch: null,
    sealedSecrets: sealWebhookSecrets([{ secret: 'whsec_x', untilMs: null }], id, bodyCipher(bodyKey)),
    status: 'enabled',
    disabledReason: null,
    description: '',
    createdAtMs: made,
    ...fields,
  };
  await harness.put('directory', `webhook.${accountId}.${id}`, tenantEntities.webhook.encode(entry));
  return id;
}

const send = (callback_url: unknown, key = tenant.live, more: object = {}) =>
  post(ingress, key, { ...goodBody, callback_url, ...more });

async function eventOf(messageId: string) {
  return until('its event', async () => {
    const { state } = await harness.bus.manager.streams.info('EVENTS');
    for (let seq = state.last_seq; seq >= Math.max(1, state.first_seq); seq -= 1) {
      const record = await harness.bus.manager.streams.getMessage('EVENTS', { seq });
      const found = record === null ? [] : decodeEvents(record.data).filter((each) => each.messageId === messageId);
      if (found[0] !== undefined) return found[0];
    }
    return null;
  });
}

const byText = (one: string, other: string) => (one < other ? -1 : 1);

test('is in the message and its event, with the oldest endpoint of its origin', async () => {
  const url = 'https://shop.example:8443/orders/7?x=1&y=%20z';
  const { status, body } = await send(url);
  expect(status).toBe(202);
  const callback = { endpointId: ids['live'], url };
  expect((await harness.messages())[0]).toMatchObject({ messageId: body['id'], callback });
  expect(await eventOf(body['id'])).toMatchObject({ kind: 'accepted', callback });
});

test('left out or null, there is none', async () => {
  for (const url of [undefined, null]) {
    const { status, body } = await send(url);
    expect(status).toBe(202);
    expect((await eventOf(body['id'])).callback).toBeUndefined();
  }
  for (const message of await harness.messages()) expect(message.callback).toBeUndefined();
});

test('of a scheduled message waits with it', async () => {
  const send_at = new Date(systemClock.nowMs() + 3_600_000).toISOString();
  const { body } = await send('https://shop.example:8443/', tenant.live, { send_at });
  expect(body).toMatchObject({ status: 'scheduled' });
  expect((await harness.messages('SCHEDULED'))[0]?.callback?.endpointId).toBe(ids['live']);
  expect((await eventOf(body['id'])).callback?.url).toBe('https://shop.example:8443/');
});

test('of a batch is decided for each message', async () => {
  const urls = ['https://shop.example:8443/1', 'https://shop.example/1', undefined, 'https://shop.example:8443/2'];
  const messages = urls.map((callback_url) => ({ ...goodBody, callback_url }));
  const { body } = await call(ingress, 'POST', '/v1/sms/batch', tenant.live, { messages });
  expect(body['results'].map((each: any) => each.status ?? each.error.errors[0].field)).toEqual([
    'accepted',
    'callback_url',
    'accepted',
    'accepted',
  ]);
  expect((await harness.messages()).flatMap(({ callback }) => callback?.url ?? []).toSorted(byText)).toEqual([
    urls[0],
    urls[3],
  ]);
});

test('of an endpoint that is disabled is taken: an endpoint that fails must not keep messages from being sent', async () => {
  expect((await send('https://off.example/x')).status).toBe(202);
  expect((await harness.messages())[0]?.callback?.endpointId).toBe(ids['off']);
});

test('is written as the WHATWG parser writes it', async () => {
  expect((await send('HTTPS://SHOP.example:8443/a/../b c')).status).toBe(202);
  expect((await harness.messages())[0]?.callback?.url).toBe('https://shop.example:8443/b%20c');
});

describe('is refused by its field:', () => {
  const long = `https://shop.example:8443/${'a'.repeat(limits.webhooks.urlCharsMax)}`;
  test.each<[string, unknown]>([
    ['another port', 'https://shop.example/hooks'],
    ['another scheme', 'http://shop.example:8443/hooks'],
    ['a subdomain', 'https://x.shop.example:8443/'],
    ['a longer name', 'https://shop.example.evil.example:8443/'],
    ['the name as a user', 'https://shop.example:8443@evil.example/'],
    ['a user name', 'https://user@shop.example:8443/'],
    ['a password', 'https://:x@shop.example:8443/'],
    ['a fragment', 'https://shop.example:8443/#a'],
    ['a line feed, which the parser leaves out', 'https://shop.example:8443/hooks\n'],
    ['a header', 'https://shop.example:8443/\r\nx: y'],
    ['a blob of the origin', 'blob:https://shop.example:8443/x'],
    ['the origin of a test endpoint', 'http://shop.example/hooks'],
    ['the origin of another account', 'https://stranger.example/'],
    ['metadata of a cloud', 'http://169.254.169.254/'],
    ['no URL', 'shop.example'],
    ['nothing', ''],
    ['a data URL', 'data:text/plain,x'],
    ['a URL that is too long', long],
    ['one that is too long as it is sent', `https://shop.example:8443/${'আ'.repeat(limits.webhooks.urlCharsMax / 9)}`],
    ['a number', 5],
    ['a list', ['https://shop.example:8443/']],
  ])('%s', async (_name, url) => {
    const { status, body } = await send(url);
    expect([status, body['code']]).toEqual([422, 'invalid_field']);
    expect(body['errors'].map((each: any) => each.field)).toEqual(['callback_url']);
    expect(await harness.count()).toBe(0);
  });

  test('and a test key has the endpoints of its own mode', async () => {
    expect((await send('http://shop.example/x', tenant.test)).status).toBe(202);
    expect((await send('https://shop.example:8443/x', tenant.test)).status).toBe(422);
  });
});

test('the longest one is taken, and a dry run explains its gate', async () => {
  const start = 'https://shop.example:8443/';
  const longest = start + 'a'.repeat(limits.webhooks.urlCharsMax - start.length);
  expect((await send(longest)).status).toBe(202);
  const explained = await send('https://shop.example/', tenant.live, { dry_run: 'explain' });
  expect(explained.status).toBe(200);
  const gate = explained.body['gates'].find((each: any) => each.gate === 'callback_url');
  expect(gate).toMatchObject({ verdict: 'refused' });
});
