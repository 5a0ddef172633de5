// Starts, resends and cancels of one-time passwords against a real ingress with two threads and a real nats-server. No
// PostgreSQL and no event store run: all of it works without them.
import { afterAll, describe, expect, test } from 'vitest';
import { recordsOf } from '../../../support/bus.ts';
import { call } from '../harness.ts';
import { type OtpClient, freshNumber, openOtpClient, otherThan } from './otp-client.ts';

const client: OtpClient = await openOtpClient();
const { harness, tenant, start, verify, resend, cancel, get } = client;
afterAll(() => harness.stop());

describe('a start', () => {
  test('answers with the shape of the contract, and under a test key with the code that the message has', async () => {
    const to = freshNumber();
    const { status, body } = await start({ to, client_reference: 'order 7' });
    expect({ status, body }).toMatchObject({ status: 201 });
    expect(body).toEqual({
      id: expect.stringMatching(/^otp_[0-9A-HJKMNP-TV-Z]{42}$/),
      object: 'otp',
      status: 'pending',
      to,
      expires_at: expect.stringMatching(/^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{3}Z$/),
      attempts_remaining: 5,
      sms_id: expect.stringMatching(/^sms_/),
      client_reference: 'order 7',
      test_code: expect.stringMatching(/^\d{6}$/),
    });
    const message = (await harness.messages('MT_OTP')).find((each) => each.messageId === body['sms_id']);
    expect(message).toMatchObject({ recipient: to, category: 'otp', segments: 1, clientReference: 'order 7' });
    expect(message?.body).toEqual({ text: `${body['test_code']} is your code. Do not share it with anyone.` });
    expect((message?.validUntilMs ?? 0) - Date.parse(body['expires_at'])).toBeLessThanOrEqual(0);
  });

  test('under a live key has no code in its answer, in the state, in an event, or anywhere but in the sealed record', async () => {
    const to = freshNumber();
    const headers = { 'idempotency-key': 'a start that is kept' };
    const { status, body } = await start({ to, code: '48151623', brand: 'Acme' }, tenant.live, headers);
    expect({ status, body }).toMatchObject({ status: 201 });
    expect((await recordsOf(harness.bus, 'KV_idempotency')).length).toBeGreaterThan(0);
    const shown = [body, (await get(body['id'], tenant.live)).body, (await resend(body['id'], tenant.live)).body];
    await verify(body['id'], '00000000', { token: tenant.live });
    const stored = await Promise.all(
      ['KV_otp', 'KV_otp_failures', 'KV_idempotency', 'EVENTS', 'FACTS', 'DEAD'].map((stream) =>
        recordsOf(harness.bus, stream),
      ),
    );
    const texts = [
      ...shown.map((each) => JSON.stringify(each)),
      ...stored.flat().map(({ data }) => Buffer.from(data).toString('latin1')),
    ];
    expect(texts.filter((text) => text.includes('48151623'))).toEqual([]);
    expect((await verify(body['id'], '48151623', { token: tenant.live })).body).toMatchObject({ valid: true });
  });

  test.each([
    ['length 4 without the flag', { length: 4 }, 422, 'invalid_field'],
    ['length 11', { length: 11 }, 422, 'invalid_field'],
    ['a life of 29 s', { ttl_seconds: 29 }, 422, 'invalid_field'],
    ['a life of 601 s', { ttl_seconds: 601 }, 422, 'invalid_field'],
    ['both lines', { domain: 'example.com', app_hash: 'FA+9qCX9VSu' }, 422, 'invalid_field'],
    ['an unknown language', { language: 'fr' }, 422, 'invalid_field'],
    ['an unknown field', { ttl: 60 }, 422, 'unknown_field'],
    ['a code with letters', { code: '12345a' }, 422, 'invalid_field'],
    ['a code and a length', { code: '123456', length: 6 }, 422, 'invalid_field'],
    ['an address that is none', { client_ip: 'localhost' }, 422, 'invalid_field'],
    ['a template that is not there', { template_id: 'tpl_x' }, 422, 'template_mismatch'],
    ['a number of another country', { to: '+14155550100' }, 422, 'unsupported_destination'],
    [
      'a text of two segments',
      { language: 'bn', brand: 'Acme', domain: `${'a'.repeat(60)}.example.com` },
      422,
      'message_too_long',
    ],
  ])('is refused with %s', async (_what, body, status, code) => {
    expect(await start(body)).toMatchObject({ status, body: { code } });
  });

  test.each([
    ['4 digits with the flag', { length: 4 }, /^\d{4} is your code/],
    ['10 digits', { length: 10 }, /^\d{10} is your code/],
    ['a brand', { brand: 'Acme' }, /^\d{6} is your Acme code/],
    ['Bangla of a region', { language: 'bn-BD' }, /^\d{6} আপনার কোড/],
    ['the line of WebOTP', { domain: 'example.com' }, /\n@example\.com #\d{6}$/],
    ['the hash of Android', { app_hash: 'FA+9qCX9VSu' }, /^<#> \d{6} .*\nFA\+9qCX9VSu$/],
    ['a code of its own', { code: '004200' }, /^004200 is/],
  ])('takes %s', async (_what, body, text) => {
    const owner = await harness.tenant({
      scopes: ['sms:send', 'sms:read', 'otp:custom_code'],
      account: { otpShortCodes: true },
    });
    const started = await start(body, owner.test);
    expect(started.status).toBe(201);
    const message = (await harness.messages('MT_OTP')).find((each) => each.messageId === started.body['sms_id']);
    expect(message?.body).toMatchObject({ text: expect.stringMatching(text) });
    expect((await verify(started.body['id'], started.body['test_code'], { token: owner.test })).body).toMatchObject({
      valid: true,
    });
  });

  test('takes an approved template with the code, and the sender that is the only one for OTP', async () => {
    const owner = await harness.tenant({
      senders: ['SHOP', 'CODES'],
      account: { senderCategories: { SHOP: ['promotional'] } },
    });
    const entry = {
      v: 1,
      templateId: 'tpl_otp',
      accountId: owner.accountId,
      category: 'otp',
      body: 'Login {{code}} at {{brand}}',
      variables: [
        { name: 'code', type: 'code', size: 6 },
        { name: 'brand', type: 'text' },
      ],
    };
    await harness.put('directory', `template.${owner.accountId}.tpl_otp`, JSON.stringify(entry));
    const started = await start({ template_id: 'tpl_otp', brand: 'Acme' }, owner.live);
    expect(started.status).toBe(201);
    const message = (await harness.messages('MT_OTP')).find((each) => each.messageId === started.body['sms_id']);
    expect(message).toMatchObject({ sender: 'CODES', templateId: 'tpl_otp' });
    expect(message?.body).toMatchObject({ text: expect.stringMatching(/^Login \d{6} at Acme$/) });
    expect(await start({ template_id: 'tpl_otp' }, owner.live)).toMatchObject({
      status: 422,
      body: { code: 'template_mismatch' },
    });
  });

  test('needs a scope for a code of its own, and a sender where there are several', async () => {
    const owner = await harness.tenant({ senders: ['ONE', 'TWO'] });
    expect(await start({ code: '123456' }, owner.test)).toMatchObject({ status: 403, body: { code: 'scope_missing' } });
    expect(await start({}, owner.live)).toMatchObject({
      status: 422,
      body: {
        code: 'missing_field',
        detail:
          'from: is required: the account has 2 approved senders for OTP (ONE, TWO), as GET /v1/senders lists them',
      },
    });
    const many = await harness.tenant({ senders: ['ONE', 'TWO', 'THREE', 'FOUR', 'FIVE'] });
    expect((await start({}, many.live)).body['detail']).toContain('has 5 approved senders for OTP (');
    expect((await start({}, many.live)).body['detail']).toContain(', and 2 more), as GET /v1/senders');
    const none = await harness.tenant({ senders: [] });
    expect((await start({}, none.live)).body['detail']).toContain('the account has no approved sender for OTP');
    expect(await start({ from: 'TWO' }, owner.live)).toMatchObject({ status: 201 });
  });

  test('has an id of its own for the same number; two wait at most, and of another purpose two more', async () => {
    const to = freshNumber();
    const [one, two] = [await start({ to }), await start({ to })];
    expect(one.body['id']).not.toBe(two.body['id']);
    const third = await start({ to });
    expect(third).toMatchObject({ status: 429, body: { code: 'otp_pending_limit' } });
    expect(Number(third.headers.get('retry-after'))).toBeGreaterThan(250);
    expect(await start({ to, purpose: 'payment' })).toMatchObject({ status: 201 });
    expect((await verify(one.body['id'], one.body['test_code'])).body).toMatchObject({ valid: true });
  });
});

test('a repeated start under an Idempotency-Key is one message, with the same answer', async () => {
  const to = freshNumber();
  const headers = { 'idempotency-key': `start ${to}` };
  const answers = await Promise.all(Array.from({ length: 20 }, () => start({ to }, tenant.test, headers)));
  const done = answers.filter(({ status }) => status === 201);
  expect(answers.filter(({ status }) => status !== 201 && status !== 409)).toEqual([]);
  expect(new Set(done.map(({ body }) => JSON.stringify(body))).size).toBe(1);
  const again = await start({ to }, tenant.test, headers);
  expect(again.body).toEqual(done[0]?.body);
  expect(again.headers.get('idempotent-replayed')).toBe('true');
  expect((await harness.messages('MT_OTP')).filter(({ recipient }) => recipient === to)).toHaveLength(1);
  // Also when it has ended since: what it has become is read with GET.
  await cancel(again.body['id']);
  expect((await start({ to }, tenant.test, headers)).body).toEqual(done[0]?.body);
});

test('ids of another account, of the other mode and of no account are the same 404', async () => {
  const other = await harness.tenant();
  const { body } = await start();
  const unknown = `otp_${'0'.repeat(42)}`;
  const asked = [
    [body['id'], other.test],
    [body['id'], tenant.live],
    [unknown, tenant.test],
    ['otp_1', tenant.test],
  ] as const;
  const refused = ({ status, body }: Awaited<ReturnType<typeof get>>) => ({ status, ...body, request_id: '' });
  const answers = await Promise.all(
    asked.flatMap(([id, token]) => [
      get(id, token),
      verify(id, body['test_code'], { token }),
      resend(id, token),
      cancel(id, token),
    ]),
  );
  expect(new Set(answers.map((each) => JSON.stringify(refused(each)))).size).toBe(1);
  expect(answers[0]).toMatchObject({ status: 404, body: { code: 'not_found' } });
  expect((await get(body['id'])).body).toMatchObject({ status: 'pending', attempts_remaining: 5 });
});

describe('a resend', () => {
  test('sends the same text until the same time, at most five messages to a number in ten minutes', async () => {
    const to = freshNumber();
    const { body } = await start({ to });
    for (let sends = 2; sends <= 5; sends += 1) {
      const again = await resend(body['id']);
      expect(again).toMatchObject({ status: 200, body: { status: 'pending', expires_at: body['expires_at'] } });
      expect(again.body['sms_id']).not.toBe(body['sms_id']);
    }
    const sixth = await resend(body['id']);
    expect(sixth).toMatchObject({ status: 429, body: { code: 'otp_rate_limited' } });
    expect(Number(sixth.headers.get('retry-after'))).toBeGreaterThan(590);
    expect(await start({ to, purpose: 'other' })).toMatchObject({ status: 429, body: { code: 'otp_rate_limited' } });
    const messages = (await harness.messages('MT_OTP')).filter(({ recipient }) => recipient === to);
    expect(new Set(messages.map((each) => JSON.stringify(each.body))).size).toBe(1);
    expect(messages).toHaveLength(5);
    expect((await get(body['id'])).body['sends']).toHaveLength(5);
  });

  test('is refused within the last minute, and of what has ended', async () => {
    const short = await start({ ttl_seconds: 59 });
    expect(await resend(short.body['id'])).toMatchObject({ status: 409, body: { code: 'otp_expiring' } });
    expect(await cancel(short.body['id'])).toMatchObject({ status: 200, body: { status: 'canceled' } });
    expect(await resend(short.body['id'])).toMatchObject({ status: 409, body: { code: 'otp_not_pending' } });
  });

  test('under an Idempotency-Key is one message', async () => {
    const { body } = await start();
    const headers = { 'idempotency-key': `resend ${body['id']}` };
    const [first, again] = [
      await resend(body['id'], tenant.test, headers),
      await resend(body['id'], tenant.test, headers),
    ];
    expect(again.body).toEqual(first.body);
    expect((await get(body['id'])).body['sends']).toHaveLength(2);
  });
});

test('a cancel takes no field, and says so: none of its limits would count them', async () => {
  const { body } = await start();
  const cancelWith = (fields: object) =>
    call(client.ingress, 'POST', `/v1/otp/${body['id']}/cancel`, tenant.test, fields);
  const { status, body: refused } = await cancelWith({ client_ip: '203.0.113.7', device_id: 'phone 7' });
  const errors = ['client_ip', 'device_id'].map((field) => ({ field, code: 'unknown_field' }));
  expect({ status, body: refused }).toMatchObject({ status: 422, body: { code: 'unknown_field', errors } });
  expect((await get(body['id'])).body).toMatchObject({ status: 'pending' });
  expect(await cancelWith({})).toMatchObject({ status: 200, body: { status: 'canceled' } });
});

test('a cancel ends it; a repeat is the same answer, and what was verified stays so', async () => {
  const { body } = await start();
  const first = await cancel(body['id']);
  expect(first).toMatchObject({ status: 200, body: { status: 'canceled', sms_id: body['sms_id'] } });
  expect(await cancel(body['id'])).toMatchObject({ status: 200, body: first.body });
  expect((await verify(body['id'], body['test_code'])).body).toMatchObject({ valid: false, status: 'canceled' });
  const other = await start();
  await verify(other.body['id'], other.body['test_code']);
  expect(await cancel(other.body['id'])).toMatchObject({ status: 409, body: { code: 'otp_not_pending' } });
});

test('the 20th failed guess about a number locks it, over new codes; another number of the account goes on', async () => {
  const to = freshNumber();
  let failed = 0;
  for (const purpose of ['a', 'b', 'c', 'd']) {
    const { body } = await start({ to, purpose });
    for (let guess = 0; guess < 5; guess += 1) {
      await verify(body['id'], otherThan(body['test_code']));
      failed += 1;
    }
  }
  expect(failed).toBe(20);
  const locked = await start({ to, purpose: 'e' });
  expect(locked).toMatchObject({ status: 429, body: { code: 'otp_locked' } });
  expect(Number(locked.headers.get('retry-after'))).toBeGreaterThan(86_000);
  expect(await start()).toMatchObject({ status: 201 });
});

test('a refused message leaves nothing behind: neither a pending code nor a counted send', async () => {
  const to = freshNumber();
  const suspended = await harness.tenant({ status: 'suspended' });
  expect(await start({ to }, suspended.test)).toMatchObject({ status: 403, body: { code: 'account_suspended' } });
  expect(await recordsOf(harness.bus, 'KV_otp', `$KV.otp.${suspended.accountId}.>`)).toEqual([]);
});
