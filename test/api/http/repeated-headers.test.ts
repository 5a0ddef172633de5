// A request with a repeated header or field is ambiguous: two readers may take different values, such as two keys, two
// idempotency keys or two recipients. It is refused at every entry point, and nothing is queued.
import { once } from 'node:events';
import { type IncomingMessage, createServer, request } from 'node:http';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { withDeadline } from '../../../platform/deadline.ts';
import { patienceMs } from '../../support/until.ts';
import { type Harness, type Ingress, type Tenant, goodBody, openHarness, post } from './harness.ts';

let harness: Harness;
let ingress: Ingress;
let tenant: Tenant;
let other: Tenant;
let forwarded = 0;
const control = createServer((_req, res) => {
  forwarded += 1;
  res.end('{}');
});

beforeAll(async () => {
  control.listen(0, '127.0.0.1');
  await once(control, 'listening');
  const address = control.address();
  const port = typeof address === 'object' && address !== null ? address.port : 0;
  harness = await openHarness();
  [tenant, other] = await Promise.all([harness.tenant(), harness.tenant()]);
  ingress = await harness.ingress({ HELIOGRAPH_CONTROL_PORT: String(port) });
});
afterAll(async () => {
  control.close();
  control.closeAllConnections();
  await harness.stop();
});

/** With headers exactly as given, one line each. */
async function raw(method: string, path: string, headers: readonly string[], body?: string) {
  const asked = request({ host: '127.0.0.1', port: ingress.port, method, path, headers: [...headers] as never });
  asked.end(body);
  const [answer] = (await withDeadline('the answer', patienceMs, once(asked, 'response'))) as [IncomingMessage];
  const chunks: Buffer[] = [];
  for await (const chunk of answer) chunks.push(chunk as Buffer);
  return { status: answer.statusCode, body: JSON.parse(Buffer.concat(chunks).toString()) as Record<string, any> };
}

test.each([
  ['POST', '/v1/sms'],
  ['POST', '/v1/sms/batch'],
  ['GET', '/v1/sms'],
  ['GET', '/v1/sms/sms_00000000000000000000000000'],
  ['DELETE', '/v1/sms/sms_00000000000000000000000000'],
  ['GET', '/v1/account'],
  ['POST', '/v1/api-keys'],
])('%s %s with two Authorization headers is refused, whosever they are', async (method, path) => {
  const [queued, passed] = [await harness.count(), forwarded];
  const body = method === 'POST' ? JSON.stringify(goodBody) : undefined;
  const length = body === undefined ? [] : ['content-type', 'application/json', 'content-length', String(body.length)];
  for (const second of [other.live, tenant.live, 'nonsense']) {
    const keys = ['authorization', `Bearer ${tenant.live}`, 'Authorization', `Bearer ${second}`];
    const answer = await raw(method, path, ['host', 'here', ...keys, ...length], body);
    expect(answer).toMatchObject({
      status: 401,
      body: { code: 'invalid_api_key', detail: 'the Authorization header must be given only once' },
    });
  }
  expect([await harness.count(), forwarded]).toEqual([queued, passed]);
});

test('two idempotency keys are refused on routes of the control role as on the hot ones', async () => {
  const passed = forwarded;
  const keys = ['authorization', `Bearer ${tenant.live}`, 'idempotency-key', 'a', 'idempotency-key', 'b'];
  for (const path of ['/v1/sms', '/v1/senders']) {
    const headers = ['host', 'here', ...keys, 'content-type', 'application/json', 'content-length', '2'];
    const { body } = await raw('POST', path, headers, '{}');
    expect(body).toMatchObject({ status: 422, errors: [{ field: 'Idempotency-Key', code: 'invalid_field' }] });
  }
  expect(forwarded).toBe(passed);
});

test.each([
  ['to', `{"to":"+8801712345678","from":"HELIO","message":"x","to":"+8801812345678"}`],
  ['to', `{"to":"+8801712345678","from":"HELIO","message":"x","\\u0074o":"+8801712345678"}`],
  ['variables.code', `{"to":"+8801712345678","from":"HELIO","template_id":"t","variables":{"code":1,"code":2}}`],
])('a body that says %s twice is refused by name, and nothing is queued', async (field, body) => {
  const queued = await harness.count();
  const answer = await post(ingress, tenant.live, body);
  expect(answer.body).toMatchObject({
    status: 422,
    code: 'invalid_field',
    errors: [{ field, code: 'invalid_field', detail: 'must be given only once' }],
  });
  expect(await harness.count()).toBe(queued);
});

test('a batch in which one message repeats a field is refused as a whole', async () => {
  const queued = await harness.count();
  const good = JSON.stringify(goodBody);
  const body = `{"messages":[${good},${good.slice(0, -1)},"to":"+8801812345678"}]}`;
  const response = await fetch(ingress.url('/v1/sms/batch'), {
    method: 'POST',
    headers: { authorization: `Bearer ${tenant.live}`, 'content-type': 'application/json' },
    body,
  });
  expect(await response.json()).toMatchObject({ status: 422, errors: [{ field: 'messages[1].to' }] });
  expect(await harness.count()).toBe(queued);
});

test('a text that looks like fields is a text', async () => {
  const message = '{"to":"a","to":"b"} \\ "';
  expect((await post(ingress, tenant.live, { ...goodBody, message })).status).toBe(202);
  expect((await harness.messages()).at(-1)).toMatchObject({ body: { text: message } });
});
