// The management API over real HTTP, on real PostgreSQL and NATS: what each route does, and every way to be
// refused, each with its documented problem.
import { request as httpRequest } from 'node:http';
import { connect } from 'node:net';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { type ManagementApi, startManagementApi } from '../../../api/management/server.ts';
import { problemCatalogue } from '../../../api/problem-catalogue.ts';
import { type Bus, connectBus } from '../../../cluster/bus/connect.ts';
import type { Directory } from '../../../cluster/directory/contract.ts';
import { openDirectory } from '../../../cluster/directory/directory.ts';
import { type Projector, startProjector } from '../../../cluster/directory/projector.ts';
import { createAccount, suspendAccount } from '../../../cluster/store/accounts.ts';
import { createKey } from '../../../cluster/store/api-keys.ts';
import { migrateStore } from '../../../cluster/store/migrate.ts';
import { type Store, openStore } from '../../../cluster/store/store.ts';
import { type Scope, scopes } from '../../../model/api-key.ts';
import type { AccountId } from '../../../model/ids.ts';
import { until } from '../../../platform/deadline.ts';
import { limits } from '../../../platform/limits.ts';
import { type TestNats, startNats } from '../../support/nats.ts';
import { type TestPostgres, startPostgres } from '../../support/postgres.ts';

let postgres: TestPostgres;
let nats: TestNats;
let store: Store;
let bus: Bus;
let directory: Directory;
let projector: Projector;
let api: ManagementApi;
let accountId: AccountId;
let live: string;
let testKey: string;
let other: string;

beforeAll(async () => {
  [postgres, nats] = await Promise.all([startPostgres(), startNats()]);
  await migrateStore(postgres.url);
  store = openStore(postgres.url);
  bus = await connectBus(nats.url, 'test');
  projector = startProjector({ databaseUrl: postgres.url, store, bus });
  directory = await openDirectory(bus);
  api = await startManagementApi({ store, directory, port: 0 });
  accountId = await newAccount();
  live = await newKey(accountId, true);
  testKey = await newKey(accountId, false);
  other = await newKey(await newAccount(), true);
});
afterAll(async () => {
  await api?.close(1_000);
  await projector?.close();
  await directory?.close();
  await bus?.close();
  await store?.close();
  await Promise.all([postgres?.stop(), nats?.stop()]);
});

async function newAccount(): Promise<AccountId> {
  const made = await createAccount(store, { name: 'Test' });
  if (!made.ok) throw new Error(made.code);
  return made.account.id;
}

async function newKey(of: AccountId, livemode: boolean, allowed: readonly Scope[] = scopes): Promise<string> {
  const made = await createKey(store, { accountId: of, livemode, scopes: allowed });
  if (!made.ok) throw new Error(made.code);
  await until('the key is known', () => directory.authenticate(made.token).ok);
  return made.token;
}

type Reply = { status: number; headers: Headers; body: any };

async function call(
  method: string,
  path: string,
  options: {
    key?: string | null;
    json?: unknown;
    raw?: string | Uint8Array<ArrayBuffer>;
    headers?: Record<string, string>;
  } = {},
): Promise<Reply> {
  const { key = live, json, raw } = options;
  const body = raw ?? (json === undefined ? undefined : JSON.stringify(json));
  const response = await fetch(`http://127.0.0.1:${api.port}${path}`, {
    method,
    ...(body === undefined ? {} : { body }),
    headers: {
      ...(key === null ? {} : { authorization: `Bearer ${key}` }),
      ...(body === undefined ? {} : { 'content-type': 'application/json' }),
      ...options.headers,
    },
  });
  const text = await response.text();
  const isJson = /json/.test(response.headers.get('content-type') ?? '');
  return { status: response.status, headers: response.headers, body: isJson ? JSON.parse(text) : text };
}

/** Checks the shape every refusal has, and gives what differs. */
function refusal(reply: Reply): { status: number; code: string; fields: string[] } {
  expect(reply.headers.get('content-type')).toBe('application/problem+json');
  const { body } = reply;
  expect(Object.keys(body)).toEqual(['type', 'title', 'status', 'code', 'detail', 'errors', 'request_id']);
  expect(body).toMatchObject({ status: reply.status, request_id: reply.headers.get('x-request-id') });
  expect(problemCatalogue[body.code as 'not_found'].statuses).toContain(reply.status as 404);
  return { status: reply.status, code: body.code, fields: body.errors.map((e: any) => `${e.field} ${e.code}`) };
}

describe('the account', () => {
  test('is the one of the key', async () => {
    const { status, body } = await call('GET', '/v1/account');
    expect([status, body]).toMatchObject([200, { id: accountId, object: 'account', name: 'Test', status: 'active' }]);
  });

  test('can be read while it is suspended', async () => {
    const suspended = await newAccount();
    const key = await newKey(suspended, true);
    await suspendAccount(store, suspended);
    await until('it is suspended', () => directory.account(suspended)?.status === 'suspended');
    expect((await call('GET', '/v1/account', { key })).body).toMatchObject({ status: 'suspended' });
  });
});

describe('API keys', () => {
  test('a key is made, works at once, is listed without its secret, is revoked, and works no more', async () => {
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
    await until('it works no more', async () => (await call('GET', '/v1/account', { key })).status === 401, {
      limitMs: 1_000,
    });
    expect((await call('DELETE', `/v1/api-keys/${id}`)).body.revoked_at).toBe(revoked.body.revoked_at);
  });

  test('a key of another account is not found', async () => {
    const { id } = (await call('GET', '/v1/api-keys', { key: other })).body.data[0];
    expect(refusal(await call('DELETE', `/v1/api-keys/${id}`))).toMatchObject({ status: 404, code: 'not_found' });
    expect((await call('GET', '/v1/account', { key: other })).status).toBe(200);
  });

  test('no key makes one that may do more than itself', async () => {
    const small = await newKey(accountId, false, ['keys:manage']);
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

  test('a test key makes test keys unless it says otherwise, and then it is refused', async () => {
    const json = { scopes: ['sms:send'] };
    expect((await call('POST', '/v1/api-keys', { key: testKey, json })).body.key).toMatch(/^hk_test_/);
    const reply = await call('POST', '/v1/api-keys', { key: testKey, json: { ...json, livemode: true } });
    expect(refusal(reply).fields).toEqual(['livemode invalid_field']);
  });

  test('an expiry lies in the future and is kept', async () => {
    const past = { scopes: ['sms:send'], expires_at: '2020-01-01T00:00:00Z' };
    expect(refusal(await call('POST', '/v1/api-keys', { json: past })).fields).toEqual(['expires_at invalid_field']);
    const future = { scopes: ['sms:send'], expires_at: '2099-01-01T00:00:00+06:00' };
    expect((await call('POST', '/v1/api-keys', { json: future })).body.expires_at).toBe('2098-12-31T18:00:00.000Z');
  });

  test('a list goes on from its cursor to the end', async () => {
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
  test('a sender is asked for, waits, and can be given up', async () => {
    const made = await call('POST', '/v1/senders', { json: { name: 'ACME' } });
    expect([made.status, made.body]).toMatchObject([201, { name: 'ACME', kind: 'alphanumeric', status: 'pending' }]);
    expect(directory.account(accountId)?.senders.has('ACME')).toBe(false);
    expect(refusal(await call('POST', '/v1/senders', { json: { name: 'ACME' } }))).toMatchObject({
      status: 409,
      code: 'conflict',
    });
    expect((await call('GET', '/v1/senders')).body.data).toHaveLength(1);
    const path = `/v1/senders/${made.body.id}`;
    expect(refusal(await call('DELETE', path, { key: other }))).toMatchObject({ status: 404 });
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

describe('requests that are refused', () => {
  const post = (options: Parameters<typeof call>[2]) => call('POST', '/v1/senders', options).then(refusal);

  test('without a key, or with a wrong one, and with the header a client needs to know how', async () => {
    const reply = await call('GET', '/v1/account', { key: null });
    expect(refusal(reply)).toMatchObject({ status: 401, code: 'missing_api_key' });
    expect(reply.headers.get('www-authenticate')).toBe('Bearer');
    for (const key of ['nonsense', live.slice(0, -1), `${live}x`]) {
      expect(refusal(await call('GET', '/v1/account', { key }))).toMatchObject({
        status: 401,
        code: 'invalid_api_key',
      });
    }
    const basic = await call('GET', '/v1/account', { key: null, headers: { authorization: 'Basic abc' } });
    expect(refusal(basic)).toMatchObject({ status: 401, code: 'invalid_api_key' });
  });

  test('without the scope', async () => {
    const key = await newKey(accountId, true, ['sms:send']);
    for (const path of ['/v1/account', '/v1/api-keys', '/v1/senders']) {
      expect(refusal(await call('GET', path, { key }))).toMatchObject({ status: 403, code: 'scope_missing' });
    }
  });

  test('bodies that are no JSON object', async () => {
    for (const raw of ['', '{', 'null', '[]', '"x"', '{"name":"\\ud800"', Buffer.from([0x7b, 0xff, 0x7d])]) {
      expect(await post({ raw, headers: { 'content-type': 'application/json' } })).toMatchObject({
        status: 400,
        code: 'invalid_json',
      });
    }
  });

  test('other content types', async () => {
    for (const type of ['text/plain', 'application/x-www-form-urlencoded', 'application/json; charset=latin1']) {
      const reply = await post({ raw: '{"name":"X"}', headers: { 'content-type': type } });
      expect(reply).toMatchObject({ status: 415, code: 'unsupported_media_type' });
    }
  });

  test('fields that are missing, wrong or unknown, all at once and by name', async () => {
    const reply = await call('POST', '/v1/api-keys', {
      json: { scopes: ['sms:send', 'fly'], livemode: 'yes', description: 7, colour: 'red', size: 1 },
    });
    expect(refusal(reply).fields).toEqual([
      'livemode invalid_field',
      'scopes[1] invalid_field',
      'description invalid_field',
      'colour unknown_field',
      'size unknown_field',
    ]);
    expect(await post({ json: {} })).toMatchObject({ code: 'missing_field', fields: ['name missing_field'] });
    expect(await post({ json: { name: 5 } })).toMatchObject({ fields: ['name invalid_field'] });
  });

  test('at most ten wrong fields are listed', async () => {
    const json = Object.fromEntries(Array.from({ length: 30 }, (_, at) => [`f${at}`, 1]));
    expect((await post({ json })).fields).toHaveLength(limits.http.fieldProblemsMax);
  });

  test('a description of 200 characters is taken and of 201 is not', async () => {
    const of = (description: string) => call('POST', '/v1/api-keys', { json: { scopes: ['sms:send'], description } });
    expect((await of('d'.repeat(200))).status).toBe(201);
    expect(refusal(await of('d'.repeat(201))).fields).toEqual(['description invalid_field']);
    expect(refusal(await of('a\u0000b')).fields).toEqual(['description invalid_field']);
  });

  test('query parameters that are wrong, unknown or given twice', async () => {
    for (const [query, field] of [
      ['limit=0', 'limit invalid_field'],
      [`limit=${limits.management.pageMax + 1}`, 'limit invalid_field'],
      ['limit=ten', 'limit invalid_field'],
      ['limit=1&limit=2', 'limit invalid_field'],
      ['cursor=nonsense', 'cursor invalid_field'],
      ['page=2', 'page unknown_field'],
      ['__proto__=1', '__proto__ unknown_field'],
    ]) {
      expect(refusal(await call('GET', `/v1/senders?${query}`)).fields, query).toEqual([field]);
    }
    expect((await call('GET', `/v1/senders?limit=${limits.management.pageMax}`)).status).toBe(200);
    expect(refusal(await call('GET', '/v1/account?x=1')).fields).toEqual(['x unknown_field']);
  });

  test('an Idempotency-Key on routes that cannot honour it yet', async () => {
    const reply = await post({ json: { name: 'KEYED' }, headers: { 'idempotency-key': 'abc' } });
    expect(reply).toEqual({ status: 422, code: 'not_available', fields: ['Idempotency-Key not_available'] });
  });

  test('a body of the cap is read and one byte more is not, told or not told beforehand', async () => {
    const body = (size: number) => `{"name":"${'x'.repeat(size - 11)}"}`;
    expect(await post({ raw: body(limits.http.bodyBytesMax) })).toMatchObject({ status: 422 });
    expect(await post({ raw: body(limits.http.bodyBytesMax + 1) })).toMatchObject({
      status: 413,
      code: 'body_too_large',
    });
    const chunked = await new Promise<number>((resolve, reject) => {
      const outgoing = httpRequest(
        {
          host: '127.0.0.1',
          port: api.port,
          method: 'POST',
          path: '/v1/senders',
          headers: { authorization: `Bearer ${live}`, 'content-type': 'application/json' },
        },
        (incoming) => resolve(incoming.resume().statusCode ?? 0),
      );
      outgoing.on('error', reject);
      outgoing.write(body(limits.http.bodyBytesMax));
      outgoing.end('x');
    });
    expect(chunked).toBe(413);
  });

  test('paths and methods there are not', async () => {
    expect(refusal(await call('GET', '/nowhere'))).toMatchObject({ status: 404, code: 'not_found' });
    expect(refusal(await call('POST', '/v1/otp', { json: {} }))).toMatchObject({ status: 404, code: 'not_available' });
    const reply = await call('PUT', '/v1/senders', { json: {} });
    expect(refusal(reply)).toMatchObject({ status: 405, code: 'method_not_allowed' });
    expect(reply.headers.get('allow')).toBe('GET, HEAD, POST');
  });

  test('a client that goes away in the middle of its body disturbs nobody', async () => {
    const socket = connect(api.port, '127.0.0.1');
    socket.write(
      `POST /v1/senders HTTP/1.1\r\nhost: x\r\nauthorization: Bearer ${live}\r\ncontent-type: application/json\r\ncontent-length: 100\r\n\r\n{"name":`,
    );
    await new Promise((resolve) => socket.once('ready', resolve));
    socket.destroy();
    expect((await call('GET', '/v1/account')).status).toBe(200);
  });
});

describe('request ids', () => {
  test('a sound one is kept, any other is replaced', async () => {
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
      'get /v1/account',
      'get /v1/api-keys',
      'get /v1/senders',
      'get /v1/sms',
      'get /v1/sms/{id}',
      'post /v1/api-keys',
      'post /v1/senders',
      'post /v1/sms',
    ]);
    const ids = Object.values(body.paths).flatMap((item: any) =>
      Object.values(item).map((one: any) => one.operationId),
    );
    expect(new Set(ids).size).toBe(ids.length);
    const send = body.paths['/v1/sms'].post;
    expect(send.requestBody.content['application/json'].schema).toEqual({ $ref: '#/components/schemas/SendSms' });
    expect(Object.keys(send.responses)).toEqual(expect.arrayContaining(['202', '401', '415', '422', '429', '503']));
    expect(body.components.schemas.SendSms).toMatchObject({
      required: ['to', 'from', 'message'],
      additionalProperties: false,
    });
  });

  test('the pages and their files come from us alone', async () => {
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

describe('with PostgreSQL away', () => {
  test('management answers 503 with Retry-After, the pages stay, and it recovers alone', async () => {
    await postgres.kill9();
    const reply = await call('GET', '/v1/account');
    expect(refusal(reply)).toMatchObject({ status: 503, code: 'control_plane_unavailable' });
    expect(Number(reply.headers.get('retry-after'))).toBeGreaterThan(0);
    expect(refusal(await call('POST', '/v1/senders', { json: { name: 'DOWN' } }))).toMatchObject({ status: 503 });
    expect((await call('GET', '/openapi.json')).status).toBe(200);
    expect(refusal(await call('GET', '/v1/account', { key: 'wrong' }))).toMatchObject({ status: 401 });
    await postgres.restart();
    await until('it answers again', async () => (await call('GET', '/v1/account')).status === 200);
  });
});
