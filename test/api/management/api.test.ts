// The management API over real HTTP, on real PostgreSQL and NATS: what each route does, the pages, and what works while
// the database is down.
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { setAccountStatus } from '../../../control/store/accounts.ts';
import { until } from '../../support/until.ts';
import { within } from '../../support/running-clock.ts';
import { type RunningApi, refusal, runApi } from './support/running-api.ts';

let running: RunningApi;

beforeAll(async () => {
  running = await runApi();
});
afterAll(async () => {
  await running?.stop();
});

const call: RunningApi['call'] = (...asked) => running.call(...asked);

describe('the account', () => {
  test('is the one of the key', async () => {
    const { status, body } = await call('GET', '/v1/account');
    expect([status, body]).toMatchObject([
      200,
      { id: running.accountId, object: 'account', name: 'Test', status: 'active' },
    ]);
  });

  test('can be read while it is suspended', async () => {
    const suspended = await running.newAccount();
    const key = await running.newKey(suspended, true);
    await setAccountStatus(running.store, suspended, 'suspended');
    await until('it is suspended', () => running.directory.account(suspended)?.status === 'suspended');
    expect((await call('GET', '/v1/account', { key })).body).toMatchObject({ status: 'suspended' });
  });
});

describe('API keys', () => {
  test('a key is created, works at once, is listed without its secret, is revoked, and works no more', async () => {
    const made = await call('POST', '/v1/api-keys', { json: { scopes: ['account:read'], description: 'web' } });
    expect([made.status, made.body]).toMatchObject([201, { object: 'api_key', livemode: true, description: 'web' }]);
    const { id, key } = made.body;
    expect((await call('GET', '/v1/account', { key })).status).toBe(200);

    const listed = (await call('GET', '/v1/api-keys')).body.data.find((one: any) => one.id === id);
    expect(listed).not.toHaveProperty('key');
    expect(key.startsWith(listed.hint.replace('…', ''))).toBe(true);

    const revoked = await call('DELETE', `/v1/api-keys/${id}`);
    expect([revoked.status, revoked.body.id]).toEqual([200, id]);
    expect(Date.parse(revoked.body.revoked_at)).toBeGreaterThan(0);
    const isRefused = async () => (await call('GET', '/v1/account', { key })).status === 401;
    await until('it works no more', isRefused, within(1_000));
    expect((await call('DELETE', `/v1/api-keys/${id}`)).body.revoked_at).toBe(revoked.body.revoked_at);
  });

  test('a key of another account is not found', async () => {
    const { id } = (await call('GET', '/v1/api-keys', { key: running.other })).body.data[0];
    expect(refusal(await call('DELETE', `/v1/api-keys/${id}`))).toMatchObject({ status: 404, code: 'not_found' });
    expect((await call('GET', '/v1/account', { key: running.other })).status).toBe(200);
  });

  test('no key creates one with more rights than itself', async () => {
    const small = await running.newKey(running.accountId, false, ['keys:manage']);
    const json = { livemode: true, scopes: ['keys:manage', 'sms:send'] };
    const reply = refusal(await call('POST', '/v1/api-keys', { key: small, json }));
    expect(reply).toEqual({
      status: 422,
      code: 'invalid_field',
      fields: ['livemode invalid_field', 'scopes[1] invalid_field'],
    });
    const mine = await call('POST', '/v1/api-keys', { key: small, json: { scopes: ['keys:manage'] } });
    expect(mine.body.livemode).toBe(false);
  });

  test('a test key creates test keys by default, and a live one is refused', async () => {
    const json = { scopes: ['sms:send'] };
    expect((await call('POST', '/v1/api-keys', { key: running.testKey, json })).body.key).toMatch(/^hk_test_/);
    const reply = await call('POST', '/v1/api-keys', { key: running.testKey, json: { ...json, livemode: true } });
    expect(refusal(reply).fields).toEqual(['livemode invalid_field']);
  });

  test('an expiry must be in the future and is stored', async () => {
    const past = { scopes: ['sms:send'], expires_at: '2020-01-01T00:00:00Z' };
    expect(refusal(await call('POST', '/v1/api-keys', { json: past })).fields).toEqual(['expires_at invalid_field']);
    const future = { scopes: ['sms:send'], expires_at: '2099-01-01T00:00:00+06:00' };
    expect((await call('POST', '/v1/api-keys', { json: future })).body.expires_at).toBe('2098-12-31T18:00:00.000Z');
  });

  test('a list continues from its cursor to the end', async () => {
    const ids: string[] = [];
    let cursor: string | null = null;
    do {
      const query: string = cursor === null ? '' : `&cursor=${cursor}`;
      const { body } = await call('GET', `/v1/api-keys?limit=2${query}`);
      expect(body.data.length).toBeLessThanOrEqual(2);
      ids.push(...body.data.map((one: any) => one.id));
      cursor = body.next_cursor;
    } while (cursor !== null);
    expect(ids.length).toBeGreaterThan(2);
    expect(new Set(ids).size).toBe(ids.length);
  });
});

describe('senders', () => {
  test('a sender is requested, waits, and can be withdrawn', async () => {
    const made = await call('POST', '/v1/senders', { json: { name: 'ACME' } });
    expect([made.status, made.body]).toMatchObject([201, { name: 'ACME', kind: 'alphanumeric', status: 'pending' }]);
    expect(running.directory.account(running.accountId)?.senders.has('ACME')).toBe(false);
    expect(refusal(await call('POST', '/v1/senders', { json: { name: 'ACME' } }))).toMatchObject({
      status: 409,
      code: 'conflict',
    });
    expect((await call('GET', '/v1/senders')).body.data).toHaveLength(1);
    const path = `/v1/senders/${made.body.id}`;
    expect(refusal(await call('DELETE', path, { key: running.other }))).toMatchObject({ status: 404 });
    expect((await call('DELETE', path)).body).toEqual({ id: made.body.id, object: 'sender', deleted: true });
    expect(refusal(await call('DELETE', path))).toMatchObject({ status: 404, code: 'not_found' });
  });

  test.each(['', 'TWELVE-CHARS', '12', '1234567890123456', ' ACME', 'Ünï', 'a\u0000b'])(
    '%j is no sender',
    async (name) => {
      expect(refusal(await call('POST', '/v1/senders', { json: { name } })).fields).toEqual(['name invalid_field']);
    },
  );
});

describe('request ids', () => {
  test('a valid one is kept, any other is replaced', async () => {
    const idOf = async (given: string) =>
      (await call('GET', '/nowhere', { headers: { 'x-request-id': given } })).headers.get('x-request-id');
    expect(await idOf('req_ABC.1:2-3')).toBe('req_ABC.1:2-3');
    expect(await idOf('a b')).toMatch(/^req_/);
    expect(await idOf('x'.repeat(129))).toMatch(/^req_/);
  });
});

describe('pages', () => {
  test('the OpenAPI document names every route of this version and is served without a key', async () => {
    const { status, body } = await call('GET', '/openapi.json', { key: null });
    expect([status, body.openapi]).toEqual([200, '3.1.0']);
    const routes = Object.entries(body.paths).flatMap(([path, item]) =>
      Object.keys(item as object).map((m) => `${m} ${path}`),
    );
    expect(routes.sort()).toEqual([
      'delete /v1/api-keys/{id}',
      'delete /v1/senders/{id}',
      'delete /v1/sms/{id}',
      'delete /v1/suppressions/{id}',
      'delete /v1/templates/{id}',
      'delete /v1/webhooks/{id}',
      'get /v1/account',
      'get /v1/account/settings',
      'get /v1/api-keys',
      'get /v1/api-keys/{id}',
      'get /v1/audit',
      'get /v1/carriers',
      'get /v1/carriers/{name}',
      'get /v1/events',
      'get /v1/exports/latency_counts',
      'get /v1/exports/link_clicks',
      'get /v1/exports/link_codes',
      'get /v1/exports/message_counts',
      'get /v1/exports/sms_events',
      'get /v1/links',
      'get /v1/links/{id}',
      'get /v1/otp',
      'get /v1/otp-guard',
      'get /v1/otp-guard/blocks',
      'get /v1/otp/{id}',
      'get /v1/reports/campaigns',
      'get /v1/reports/click-reasons',
      'get /v1/reports/clicks',
      'get /v1/reports/delivery',
      'get /v1/reports/errors',
      'get /v1/reports/hedging',
      'get /v1/reports/latency',
      'get /v1/reports/otp',
      'get /v1/reports/otp-decisions',
      'get /v1/reports/otp-trust',
      'get /v1/reports/segments',
      'get /v1/reports/throughput',
      'get /v1/senders',
      'get /v1/sms',
      'get /v1/sms/{id}',
      'get /v1/suppressions',
      'get /v1/templates',
      'get /v1/templates/{id}',
      'get /v1/webhooks',
      'get /v1/webhooks/{id}',
      'get /v1/webhooks/{id}/deliveries',
      'patch /v1/account/settings',
      'patch /v1/api-keys/{id}',
      'patch /v1/otp-guard',
      'patch /v1/webhooks/{id}',
      'post /v1/api-keys',
      'post /v1/carriers/{name}/binds/{bind}/drain',
      'post /v1/carriers/{name}/binds/{bind}/pause',
      'post /v1/carriers/{name}/binds/{bind}/resume',
      'post /v1/carriers/{name}/drain',
      'post /v1/carriers/{name}/pause',
      'post /v1/carriers/{name}/resume',
      'post /v1/links/{id}/disable',
      'post /v1/links/{id}/enable',
      'post /v1/otp',
      'post /v1/otp-guard/blocks',
      'post /v1/otp-guard/blocks/{prefix}/release',
      'post /v1/otp/unlock',
      'post /v1/otp/{id}/cancel',
      'post /v1/otp/{id}/resend',
      'post /v1/otp/{id}/verify',
      'post /v1/senders',
      'post /v1/sms',
      'post /v1/sms/batch',
      'post /v1/suppressions',
      'post /v1/suppressions/import',
      'post /v1/templates',
      'post /v1/webhooks',
      'post /v1/webhooks/{id}/replay',
      'post /v1/webhooks/{id}/rotate-secret',
      'post /v1/webhooks/{id}/test',
    ]);
    const ids = Object.values(body.paths).flatMap((item: any) =>
      Object.values(item).map((one: any) => one.operationId),
    );
    expect(new Set(ids).size).toBe(ids.length);
    const send = body.paths['/v1/sms'].post;
    expect(send.requestBody.content['application/json'].schema).toEqual({ $ref: '#/components/schemas/SendSms' });
    expect(Object.keys(send.responses)).toEqual(expect.arrayContaining(['202', '401', '415', '422', '429', '503']));
    expect(body.components.schemas.SendSms).toMatchObject({
      // The text comes as `message` or from a template.
      required: ['to', 'from'],
      additionalProperties: false,
    });
  });

  test('the pages and their files are loaded from our server alone', async () => {
    for (const path of ['/docs', '/docs/errors']) {
      const { status, headers, body } = await call('GET', path, { key: null });
      expect([status, headers.get('content-security-policy')]).toEqual([
        200,
        expect.stringContaining("default-src 'none'"),
      ]);
      expect(body).not.toMatch(/(src|href)="(https?:)?\/\//);
      for (const [, asset] of body.matchAll(/(?:src|href)="(\/docs\/assets\/[^"]+)"/g)) {
        const file = await call('GET', asset ?? '', { key: null });
        expect([asset, file.status, file.body.length > 100]).toEqual([asset, 200, true]);
      }
    }
    expect((await call('GET', '/docs/assets/..%2fpackage.json', { key: null })).status).toBe(404);
    expect((await call('GET', '/docs/assets/constructor', { key: null })).status).toBe(404);
  });

  test('HEAD answers as GET does, without a body', async () => {
    const { status, body } = await call('HEAD', '/docs', { key: null });
    expect([status, body]).toEqual([200, '']);
  });
});

describe('with PostgreSQL down', () => {
  test('management answers 503 with Retry-After, the pages stay, and it recovers by itself', async () => {
    await running.postgres.kill9();
    const reply = await call('GET', '/v1/account');
    expect(refusal(reply)).toMatchObject({ status: 503, code: 'control_plane_unavailable' });
    expect(Number(reply.headers.get('retry-after'))).toBeGreaterThan(0);
    expect(refusal(await call('POST', '/v1/senders', { json: { name: 'DOWN' } }))).toMatchObject({ status: 503 });
    expect((await call('GET', '/openapi.json')).status).toBe(200);
    expect(refusal(await call('GET', '/v1/account', { key: 'wrong' }))).toMatchObject({ status: 401 });
    await running.postgres.restart();
    await until('it answers again', async () => (await call('GET', '/v1/account')).status === 200);
  });
});
