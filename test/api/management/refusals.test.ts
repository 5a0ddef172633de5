// Every way a management request can be refused, each with its documented problem, and both sides of each bound.
import { request as httpRequest } from 'node:http';
import { connect } from 'node:net';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { endpoints } from '../../../api/management/app.ts';
import { limits } from '../../../platform/limits.ts';
import { type CallOptions, type RunningApi, refusal, runApi } from './support/running-api.ts';

let running: RunningApi;

beforeAll(async () => {
  running = await runApi();
});
afterAll(async () => {
  await running?.stop();
});

const call: RunningApi['call'] = (...asked) => running.call(...asked);

describe('requests that are refused', () => {
  const post = (options: CallOptions) => call('POST', '/v1/senders', options).then(refusal);

  test('without a key, or with a wrong one, and with the header a client needs to know how', async () => {
    const reply = await call('GET', '/v1/account', { key: null });
    expect(refusal(reply)).toMatchObject({ status: 401, code: 'missing_api_key' });
    expect(reply.headers.get('www-authenticate')).toBe('Bearer');
    for (const key of ['nonsense', running.live.slice(0, -1), `${running.live}x`]) {
      expect(refusal(await call('GET', '/v1/account', { key }))).toMatchObject({
        status: 401,
        code: 'invalid_api_key',
      });
    }
    // The ingress accepts no bare key: one accepted here would not have passed its gates.
    const bare = await call('GET', '/v1/account', { key: null, headers: { authorization: running.live } });
    expect(refusal(bare)).toMatchObject({ status: 401, code: 'invalid_api_key' });
    const basic = await call('GET', '/v1/account', { key: null, headers: { authorization: 'Basic abc' } });
    expect(refusal(basic)).toMatchObject({ status: 401, code: 'invalid_api_key' });
  });

  test('from where the key may not be used, also when the ingress did not know the key yet', async () => {
    const json = { scopes: ['account:read'], ip_allowlist: ['203.0.113.0/24'] };
    const { key } = (await call('POST', '/v1/api-keys', { json })).body;
    const from = (address: string) => call('GET', '/v1/account', { key, headers: { 'x-forwarded-for': address } });
    expect((await from('203.0.113.7')).status).toBe(200);
    for (const address of ['198.51.100.7', 'unknown']) {
      expect(refusal(await from(address))).toMatchObject({ status: 403, code: 'ip_not_allowed' });
    }
  });

  test('without the scope', async () => {
    const key = await running.newKey(running.accountId, true, ['sms:send']);
    for (const path of ['/v1/account', '/v1/api-keys', '/v1/senders']) {
      expect(refusal(await call('GET', path, { key }))).toMatchObject({ status: 403, code: 'scope_missing' });
    }
  });

  test('with two keys in one request', async () => {
    const headers = { authorization: `Bearer ${running.live}, Bearer ${running.other}` };
    const { body } = await call('GET', '/v1/account', { key: null, headers });
    expect(body).toMatchObject({ code: 'invalid_api_key', detail: 'the Authorization header must be given only once' });
  });

  test('bodies that repeat a field', async () => {
    const { body } = await call('POST', '/v1/senders', { raw: '{"sender":"ONE","sender":"TWO"}' });
    expect(body).toMatchObject({
      status: 422,
      errors: [{ field: 'sender', code: 'invalid_field', detail: 'must be given only once' }],
    });
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
    const headers = { 'content-type': 'application/json', 'content-encoding': 'gzip' };
    expect(await post({ raw: '{"name":"X"}', headers })).toMatchObject({ status: 415 });
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
    const reply = await call('POST', '/v1/senders', { json });
    expect(refusal(reply).fields).toHaveLength(limits.http.fieldProblemsMax);
    expect(reply.body.detail).toContain('(and 30 more; errors has the first 10)');
  });

  test('a description of 200 characters is accepted and of 201 is not', async () => {
    const of = (description: string) => call('POST', '/v1/api-keys', { json: { scopes: ['sms:send'], description } });
    expect((await of('d'.repeat(200))).status).toBe(201);
    expect(refusal(await of('d'.repeat(201))).fields).toEqual(['description invalid_field']);
    expect(refusal(await of('a\u0000b')).fields).toEqual(['description invalid_field']);
  });

  test('query parameters that are wrong, unknown or repeated', async () => {
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

  test('the text names what is known and what is accepted', async () => {
    const detail = async (...asked: Parameters<typeof call>) => (await call(...asked)).body.errors[0].detail as string;
    const unknown = 'is not a field of this request; known is name';
    expect(await detail('POST', '/v1/senders', { json: { name: 'HELIO', colour: 'red' } })).toBe(unknown);
    expect(await detail('GET', '/v1/senders?Limits=2')).toBe(
      'is not a query parameter of this route, did you mean limit? Known are limit, cursor',
    );
    expect(await detail('GET', '/v1/senders?page=2')).toBe(
      'is not a query parameter of this route; known are limit, cursor',
    );
    expect(await detail('GET', '/v1/account?x=1')).toBe('this route has no query parameters');
    for (const limit of ['0', 'ten', String(limits.management.pageMax + 1)]) {
      expect(await detail('GET', `/v1/senders?limit=${limit}`)).toBe('must be a whole number from 1 to 100');
    }
    expect(await detail('POST', '/v1/api-keys', { json: { scopes: ['fly'] } })).toMatch(/^expected one of sms:send, /);
  });

  test('fields in the body of a POST that takes none; an empty object is no field', async () => {
    const without = endpoints.filter(({ method, body, handle }) => method === 'post' && !body && handle);
    const paths = without.map(({ path }) => path.replace('{prefix}', '%2B88017').replace('{id}', 'x'));
    expect(paths).toContain('/v1/webhooks/x/test');
    for (const path of paths) {
      const refused = refusal(await call('POST', path, { json: { x: 1 } }));
      expect([path, refused]).toEqual([path, { status: 422, code: 'unknown_field', fields: ['x unknown_field'] }]);
      for (const options of [{}, { json: {} }])
        expect([path, (await call('POST', path, options)).status]).toEqual([path, 404]);
    }
  });

  test('an invalid Idempotency-Key', async () => {
    for (const key of ['', 'k'.repeat(256)]) {
      const reply = await post({ json: { name: 'KEYED' }, headers: { 'idempotency-key': key } });
      expect(reply).toEqual({ status: 422, code: 'invalid_field', fields: ['Idempotency-Key invalid_field'] });
    }
  });

  test('a body of the cap is read and one byte more is not, announced or not', async () => {
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
          port: running.api.port,
          method: 'POST',
          path: '/v1/senders',
          headers: { authorization: `Bearer ${running.live}`, 'content-type': 'application/json' },
        },
        (incoming) => resolve(incoming.resume().statusCode ?? 0),
      );
      outgoing.on('error', reject);
      outgoing.write(body(limits.http.bodyBytesMax));
      outgoing.end('x');
    });
    expect(chunked).toBe(413);
  });

  test('unknown paths and methods', async () => {
    expect(refusal(await call('GET', '/nowhere'))).toMatchObject({ status: 404, code: 'not_found' });
    // The ingress knows its routes by their plain spelling only, and forwards the others.
    for (const path of ['/v1/%73ms', '/v1/sms']) {
      const { status, body } = await call('GET', path);
      expect([status, body.code, body.detail]).toEqual([404, 'not_found', 'there is no such route; see /docs']);
    }
    const reply = await call('PUT', '/v1/senders', { json: {} });
    expect(refusal(reply)).toMatchObject({ status: 405, code: 'method_not_allowed' });
    expect(reply.headers.get('allow')).toBe('GET, HEAD, POST');
  });

  test('a client that disconnects in the middle of its body disturbs no other', async () => {
    const socket = connect(running.api.port, '127.0.0.1');
    socket.write(
      `POST /v1/senders HTTP/1.1\r\nhost: x\r\nauthorization: Bearer ${running.live}\r\ncontent-type: application/json\r\ncontent-length: 100\r\n\r\n{"name":`,
    );
    await new Promise((resolve) => socket.once('ready', resolve));
    socket.destroy();
    expect((await call('GET', '/v1/account')).status).toBe(200);
  });
});
