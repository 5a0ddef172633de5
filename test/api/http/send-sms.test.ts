// POST /v1/sms against a real ingress process: accepted messages are in the queue, refused ones are not, and each
// refusal says what was wrong. Both sides of every limit.
import { request } from 'node:http';
import { afterAll, beforeAll, beforeEach, describe, expect, test } from 'vitest';
import { until } from '../../support/until.ts';
import { limits } from '../../../platform/limits.ts';
import { type OverflowHeartbeat, overflowHeartbeats } from '../../../cluster/bus/overflow-heartbeat.ts';
import { overflowSubject, messageSubject } from '../../../cluster/bus/subjects.ts';
import { decodeEvents } from '../../../model/records/event-record.ts';
import { type Harness, type Ingress, type Tenant, call, goodBody, openHarness, post } from './harness.ts';

let harness: Harness;
let ingress: Ingress;
let tenant: Tenant;

beforeAll(async () => {
  harness = await openHarness();
  tenant = await harness.tenant();
  ingress = await harness.ingress();
});
afterAll(async () => harness.stop());
beforeEach(async () => {
  for (const stream of ['MT_TXN', 'MT_OTP']) await harness.bus.manager.streams.purge(stream);
});

describe('a good request', () => {
  test('is answered 202 with the message, which is in the queue with its accepted event', async () => {
    const sent = { ...goodBody, category: 'otp', client_reference: 'order "7"\\', validity_seconds: 60 };
    const { status, body, headers } = await post(ingress, tenant.live, sent, { 'x-request-id': 'mine-1' });
    expect(status).toBe(202);
    expect(headers.get('x-request-id')).toBe('mine-1');
    expect(Object.keys(body)).toEqual([
      ...['id', 'object', 'status', 'to', 'from', 'category', 'encoding', 'segments', 'livemode'],
      ...['client_reference', 'created_at'],
    ]);
    expect(body).toMatchObject({ object: 'sms', status: 'accepted', livemode: true, client_reference: 'order "7"\\' });

    const [message, ...others] = await harness.messages('MT_OTP');
    expect(others).toEqual([]);
    expect(message).toMatchObject({
      messageId: body['id'],
      carrier: 'alpha',
      body: { text: goodBody.message },
      hop: 0,
    });
    expect(message?.acceptedAtMs).toBe(Date.parse(body['created_at']));
    expect(message?.validUntilMs).toBe((message?.acceptedAtMs ?? 0) + 60_000);

    const event = await until('the accepted event', async () => {
      const { state } = await harness.bus.manager.streams.info('EVENTS');
      for (let seq = state.last_seq; seq >= Math.max(1, state.first_seq); seq -= 1) {
        const record = await harness.bus.manager.streams.getMessage('EVENTS', { seq });
        const found = record === null ? [] : decodeEvents(record.data).filter((each) => each.messageId === body['id']);
        if (found[0] !== undefined) return found[0];
      }
      return null;
    });
    expect(event).toMatchObject({ kind: 'accepted', carrier: 'alpha' });
  });

  test('with a test key goes to the sandbox, whatever the sender and the number', async () => {
    const { status, body } = await post(ingress, tenant.test, { ...goodBody, to: '+8801112345678', from: 'Anybody' });
    expect(status).toBe(202);
    expect(body['livemode']).toBe(false);
    expect((await harness.messages())[0]?.carrier).toBe('sandbox');
  });

  test('may carry its own request id only when it is short and plain', async () => {
    const long = 'a'.repeat(limits.http.requestIdCharsMax);
    expect((await post(ingress, tenant.live, goodBody, { 'x-request-id': long })).headers.get('x-request-id')).toBe(
      long,
    );
    for (const odd of [`${long}a`, 'a b', 'a"b']) {
      const { headers } = await post(ingress, tenant.live, goodBody, { 'x-request-id': odd });
      expect(headers.get('x-request-id')).toMatch(/^req_/);
    }
  });

  test.each([
    ['a body of exactly 256 KiB', () => padded(limits.http.bodyBytesMax)],
    ['10 segments of GSM-7', () => ({ ...goodBody, message: 'x'.repeat(1530) })],
    ['10 segments of UCS-2', () => ({ ...goodBody, message: 'আ'.repeat(670) })],
    ['a client_reference of 255 characters', () => ({ ...goodBody, client_reference: 'r'.repeat(255) })],
    ['the longest validity', () => ({ ...goodBody, validity_seconds: limits.message.validitySecondsMax })],
    ['an emoji', () => ({ ...goodBody, message: 'ok 👍' })],
  ])('%s is accepted', async (_name, body) => {
    const answer = await post(ingress, tenant.live, body());
    expect(answer.body).toMatchObject({ status: 'accepted' });
    expect(await harness.count()).toBe(1);
  });
});

describe('a bad body', () => {
  const without = (field: keyof typeof goodBody) =>
    Object.fromEntries(Object.entries(goodBody).filter(([name]) => name !== field));
  const cases: [name: string, body: unknown, status: number, code: string, field?: string][] = [
    ['nothing', '', 400, 'invalid_json'],
    ['half of JSON', '{"to":', 400, 'invalid_json'],
    ['not UTF-8', new Uint8Array([0x7b, 0xff, 0x7d]), 400, 'invalid_json'],
    ['an array', '[]', 400, 'invalid_json'],
    ['null', 'null', 400, 'invalid_json'],
    ['a text', '"x"', 400, 'invalid_json'],
    ['ten thousand brackets', '['.repeat(10_000), 400, 'invalid_json'],
    ['256 KiB and one byte', padded(limits.http.bodyBytesMax + 1), 413, 'body_too_large'],
    ['no recipient', without('to'), 422, 'missing_field', 'to'],
    ['no sender', without('from'), 422, 'missing_field', 'from'],
    ['no text', without('message'), 422, 'missing_field', 'message'],
    ['a number as recipient', { ...goodBody, to: 8801712345678 }, 422, 'invalid_field', 'to'],
    ['null as text', { ...goodBody, message: null }, 422, 'invalid_field', 'message'],
    ['an unknown field', { ...goodBody, colour: 1 }, 422, 'unknown_field', 'colour'],
    ['__proto__ as a field', `{"__proto__":1}`, 422, 'unknown_field', '__proto__'],
    ['an unknown category', { ...goodBody, category: 'spam' }, 422, 'invalid_field', 'category'],
    ['an unknown encoding', { ...goodBody, encoding: 'latin1' }, 422, 'invalid_field', 'encoding'],
    ['a validity of zero', { ...goodBody, validity_seconds: 0 }, 422, 'invalid_field', 'validity_seconds'],
    ['a validity with a fraction', { ...goodBody, validity_seconds: 1.5 }, 422, 'invalid_field', 'validity_seconds'],
    [
      'a validity one second too long',
      { ...goodBody, validity_seconds: limits.message.validitySecondsMax + 1 },
      422,
      'invalid_field',
      'validity_seconds',
    ],
    [
      'a reference of 256',
      { ...goodBody, client_reference: 'r'.repeat(256) },
      422,
      'invalid_field',
      'client_reference',
    ],
    ['a reference with a newline', { ...goodBody, client_reference: 'a\nb' }, 422, 'invalid_field', 'client_reference'],
    ['no plus', { ...goodBody, to: '8801712345678' }, 422, 'invalid_recipient', 'to'],
    ['letters', { ...goodBody, to: '+88017ABC45678' }, 422, 'invalid_recipient', 'to'],
    ['one digit short', { ...goodBody, to: '+880171234567' }, 422, 'invalid_recipient', 'to'],
    ['one digit long', { ...goodBody, to: '+88017123456789' }, 422, 'invalid_recipient', 'to'],
    ['another country', { ...goodBody, to: '+14155550123' }, 422, 'unsupported_destination', 'to'],
    ['no route', { ...goodBody, to: '+8801112345678' }, 422, 'no_route', 'to'],
    [
      'a category no carrier takes',
      { ...goodBody, to: '+8801812345678', category: 'promotional' },
      422,
      'no_route',
      'to',
    ],
    ['a sender that is not approved', { ...goodBody, from: 'OTHER' }, 422, 'sender_not_registered', 'from'],
    ['a sender of 12 letters', { ...goodBody, from: 'ABCDEFGHIJKL' }, 422, 'invalid_field', 'from'],
    ['an empty text', { ...goodBody, message: '' }, 422, 'message_empty', 'message'],
    ['11 segments of GSM-7', { ...goodBody, message: 'x'.repeat(1531) }, 422, 'message_too_long', 'message'],
    ['11 segments of UCS-2', { ...goodBody, message: 'আ'.repeat(671) }, 422, 'message_too_long', 'message'],
    ['a text of 200 KB', { ...goodBody, message: 'x'.repeat(200_000) }, 422, 'message_too_long', 'message'],
    [
      'gsm7 with a Bengali letter',
      { ...goodBody, message: 'আ', encoding: 'gsm7' },
      422,
      'encoding_mismatch',
      'message',
    ],
    ['U+0000', { ...goodBody, message: 'a\u0000b' }, 422, 'invalid_field', 'message'],
    ['half of a surrogate pair', '{"to":"+8801712345678","from":"HELIO","message":"\\ud83d"}', 422, 'invalid_field'],
  ];
  test.each(cases)('%s is refused and nothing is queued', async (_name, body, status, code, field) => {
    const answer = await post(ingress, tenant.live, body);
    expect(answer.body).toMatchObject({ status, code, request_id: answer.headers.get('x-request-id') });
    expect(answer.status).toBe(status);
    expect(answer.headers.get('content-type')).toBe('application/problem+json');
    if (field !== undefined) expect(answer.body['errors'][0]).toMatchObject({ field, code });
    expect(await harness.count()).toBe(0);
  });

  test('names up to ten wrong fields at once', async () => {
    const odd = Object.fromEntries(Array.from({ length: 900 }, (_, at) => [`field_${at}`, 1]));
    const { body } = await post(ingress, tenant.live, { ...odd, ...goodBody, encoding: 5 });
    expect(body['errors']).toHaveLength(limits.http.fieldProblemsMax);
    expect(body['detail']).toContain(' (and 900 more; errors has the first 10)');
    const batch = await call(ingress, 'POST', '/v1/sms/batch', tenant.live, { messages: [goodBody], ...odd });
    expect(batch.body['detail']).toContain(' (and 899 more; errors has the first 10)');
    const list = await call(ingress, 'GET', `/v1/sms?${Object.keys(odd).join('=1&')}`, tenant.live);
    expect(list.body['detail']).toContain(' (and 899 more; errors has the first 10)');
  });
});

describe('the caller', () => {
  test.each([
    ['no key', null, 401, 'missing_api_key'],
    ['an unknown key', 'hk_live_AAAAAAAAAAAA_AAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAA', 401, 'invalid_api_key'],
    ['nonsense', 'x', 401, 'invalid_api_key'],
  ])('%s is refused', async (_name, token, status, code) => {
    expect((await post(ingress, token, goodBody)).body).toMatchObject({ status, code });
  });

  test('another scheme than Bearer is refused', async () => {
    const { body } = await post(ingress, null, goodBody, { authorization: 'Basic eDp5' });
    expect(body).toMatchObject({ status: 401, code: 'invalid_api_key' });
  });

  test('a key without the scope and a suspended account are refused with 403', async () => {
    const reader = await harness.tenant({ scopes: ['sms:read'] });
    const suspended = await harness.tenant({ status: 'suspended' });
    await until('the directory', async () => (await post(ingress, suspended.live, goodBody)).status === 403);
    expect((await post(ingress, reader.live, goodBody)).body).toMatchObject({ status: 403, code: 'scope_missing' });
    expect((await post(ingress, suspended.live, goodBody)).body).toMatchObject({ code: 'account_suspended' });
    expect(await harness.count()).toBe(0);
  });
});

test.each([
  ['application/json', 202],
  ['application/json; charset=utf-8', 202],
  ['Application/JSON;charset="UTF-8"', 202],
  ['application/json; charset=latin1', 415],
  ['text/plain', 415],
  ['application/x-www-form-urlencoded', 415],
])('the content type %s is answered %i', async (contentType, status) => {
  expect((await post(ingress, tenant.live, goodBody, { 'content-type': contentType })).status).toBe(status);
});

test('a compressed body is refused as such, on both sides of the ingress', async () => {
  for (const [encoding, status] of [
    ['gzip', 415],
    ['identity', 202],
  ] as const) {
    const { status: answered } = await post(ingress, tenant.live, goodBody, { 'content-encoding': encoding });
    expect([encoding, answered]).toEqual([encoding, status]);
  }
});

test('a repeated idempotency key is refused: it is not clear which one applies', async () => {
  const status = await new Promise<number>((resolve, reject) => {
    const lines = [
      ['host', 'x'],
      ['authorization', `Bearer ${tenant.live}`],
      ['content-type', 'application/json'],
      ['idempotency-key', 'one'],
      ['idempotency-key', 'two'],
    ];
    const asking = request(
      ingress.url('/v1/sms'),
      { method: 'POST', headers: lines.flat(), timeout: 10_000 },
      (answer) => {
        answer.resume();
        resolve(answer.statusCode ?? 0);
      },
    );
    asking.on('error', reject);
    asking.end(JSON.stringify(goodBody));
  });
  expect(status).toBe(422);
});

test('a full stream is answered 503 and accepts messages again when there is capacity', async () => {
  const { config } = await harness.bus.manager.streams.info('MT_TXN');
  await harness.bus.manager.streams.update('MT_TXN', { ...config, max_msgs: 1 });
  expect((await post(ingress, tenant.live, goodBody)).status).toBe(202);
  const full = await post(ingress, tenant.live, goodBody);
  expect(full.body).toMatchObject({ status: 503, code: 'queue_full' });
  expect(Number(full.headers.get('retry-after'))).toBeGreaterThan(0);
  await harness.bus.manager.streams.update('MT_TXN', { ...config, max_msgs: -1, max_msgs_per_subject: 1 });
  expect((await post(ingress, tenant.live, goodBody)).body).toMatchObject({ status: 429, code: 'account_queue_full' });
  await harness.bus.manager.streams.update('MT_TXN', config);
  expect((await post(ingress, tenant.live, goodBody)).status).toBe(202);
  expect(await harness.count()).toBe(2);
});

test('an account whose queue is full is answered 429, in that lane only, and no other; below that it goes to overflow', async () => {
  const { accountId } = tenant;
  const other = await harness.tenant();
  const otp = { ...goodBody, category: 'otp' };
  const publish = (lanes: OverflowHeartbeat['lanes']) =>
    overflowHeartbeats.publish(harness.bus, { carrier: 'alpha', node: 'one', lanes });
  const answerOf = async (of: Tenant, body: object) => (await post(ingress, of.live, body)).status;
  // Each thread of the ingress learns it by itself.
  const allAnswer = (status: number) =>
    until(`${status}`, async () => {
      const statuses = await Promise.all(Array.from({ length: 12 }, () => answerOf(tenant, otp)));
      return statuses.every((each) => each === status);
    });
  publish({ otp: { [accountId]: true } });
  await allAnswer(429);
  const refused = await post(ingress, tenant.live, otp);
  expect(refused.body).toMatchObject({ status: 429, code: 'account_queue_full' });
  expect(Number(refused.headers.get('retry-after'))).toBeGreaterThan(0);
  expect(await answerOf(other, otp)).toBe(202);
  expect(await answerOf(tenant, goodBody)).toBe(202);
  await harness.bus.manager.streams.purge('MT_OTP');
  publish({ otp: { [accountId]: false } });
  await allAnswer(202);
  const overflow = overflowSubject('otp', 'alpha', accountId);
  const { state } = await harness.bus.manager.streams.info('MT_OTP', { subjects_filter: '>' });
  expect(state.subjects?.[overflow]).toBeGreaterThanOrEqual(12);
  publish({});
  await until('the usual way again', async () => {
    await harness.bus.manager.streams.purge('MT_OTP');
    await Promise.all(Array.from({ length: 12 }, () => answerOf(tenant, otp)));
    const { state: now } = await harness.bus.manager.streams.info('MT_OTP', { subjects_filter: '>' });
    return now.subjects?.[messageSubject('otp', 'alpha', accountId)] === 12;
  });
});

test('when the event stream is nearly full the ingress refuses first, and accepts again by itself', async () => {
  const { config, state } = await harness.bus.manager.streams.info('EVENTS');
  await harness.bus.manager.streams.update('EVENTS', { ...config, max_msgs: state.messages + 1 });
  await until(
    'the ingress to close',
    async () => (await post(ingress, tenant.live, goodBody)).body['code'] === 'queue_full',
  );
  await harness.bus.manager.streams.update('EVENTS', config);
  await until('the ingress to open', async () => (await post(ingress, tenant.live, goodBody)).status === 202);
});

/** A good body of exactly this many bytes, padded with JSON whitespace. */
function padded(bytes: number): string {
  return JSON.stringify(goodBody).padEnd(bytes, ' ');
}
