// The gates behind a real ingress: networks, rates, texts and numbers; and the audit record of a refused request.
import { request } from 'node:http';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { decodeEvents } from '../../../model/records/event-record.ts';
import { encodeBlock } from '../../../directory/suppression-entry.ts';
import type { DeliveryEvent } from '../../../model/delivery-event.ts';
import { systemClock } from '../../../platform/clock.ts';
import { until } from '../../support/until.ts';
import { type Harness, type Ingress, call, goodBody, openHarness, post } from './harness.ts';
import { within } from '../../support/running-clock.ts';

let harness: Harness;
let ingress: Ingress;

beforeAll(async () => {
  harness = await openHarness();
  ingress = await harness.ingress({}, 2, {
    ingress: { threads: 2, trustedProxies: ['127.0.0.1'], proxyHeader: 'x-forwarded-for' },
    content: { words: ['casino'], linksDenied: [], linksAllowed: [] },
  });
});
afterAll(async () => harness.stop());

/** Refused requests of an account, as EVENTS has them. */
async function refusalsOf(accountId: string): Promise<DeliveryEvent[]> {
  const { state } = await harness.bus.manager.streams.info('EVENTS');
  const found: DeliveryEvent[] = [];
  for (let seq = Math.max(1, state.first_seq); seq <= state.last_seq; seq += 1) {
    const record = await harness.bus.manager.streams.getMessage('EVENTS', { seq });
    if (record !== null) found.push(...decodeEvents(record.data).filter((event) => event.accountId === accountId));
  }
  return found.filter((event) => event.kind === 'refused');
}

test('refused keys are counted by code, on routes of the control role too', async () => {
  const { live } = await harness.tenant({ key: { networks: ['203.0.113.0/24'] } });
  const countOf = async (code: string) => {
    const { metrics } = await ingress.ask();
    const counts = metrics.flat().flatMap((each) => (each.name === 'heliograph_auth_refused_total' ? each.values : []));
    const all = counts as { labels: Record<string, string>; value: number }[];
    return all.filter(({ labels }) => labels['code'] === code).reduce((sum, { value }) => sum + value, 0);
  };
  const before = [await countOf('invalid_api_key'), await countOf('ip_not_allowed')];
  for (const [key, path] of [
    [`${live}x`, '/v1/sms'],
    [`${live}x`, '/v1/api-keys'],
    [live, '/v1/api-keys'],
  ] as const) {
    const answer = await fetch(ingress.url(path), { headers: { authorization: `Bearer ${key}` } });
    await answer.body?.cancel();
  }
  const after = [await countOf('invalid_api_key'), await countOf('ip_not_allowed')];
  expect(after.map((count, at) => count - (before[at] ?? 0))).toEqual([2, 1]);
});

describe('networks', () => {
  test('a key with an allowlist works from there and nowhere else, also on routes of the control role', async () => {
    const { live } = await harness.tenant({ key: { networks: ['203.0.113.0/24'] } });
    const from = (address: string) => ({ 'x-forwarded-for': address });
    expect((await post(ingress, live, goodBody, from('203.0.113.9'))).status).toBe(202);
    expect((await post(ingress, live, goodBody, from('203.0.113.9, 198.51.100.1'))).body).toMatchObject({
      status: 403,
      code: 'ip_not_allowed',
    });
    expect((await post(ingress, live, goodBody)).body['code']).toBe('ip_not_allowed');
    // Another header than the configured one does not count.
    expect((await post(ingress, live, goodBody, { forwarded: 'for=203.0.113.9' })).body['code']).toBe('ip_not_allowed');
    for (const path of ['/v1/sms', '/v1/api-keys']) {
      const answer = await fetch(ingress.url(path), {
        headers: { authorization: `Bearer ${live}`, ...from('192.0.2.1') },
      });
      expect([path, answer.status]).toEqual([path, 403]);
      await answer.body?.cancel();
    }
  });

  test("an account's list applies to all its keys", async () => {
    const { live, test: testKey } = await harness.tenant({ account: { networks: ['2001:db8::/32'] } });
    for (const token of [live, testKey]) {
      expect((await post(ingress, token, goodBody, { 'x-forwarded-for': '2001:db8::7' })).status).toBe(202);
      expect((await post(ingress, token, goodBody, { 'x-forwarded-for': '2001:db9::7' })).status).toBe(403);
    }
  });
});

/** A GET with header lines as given, also repeated ones. */
function rawGet(path: string, headers: readonly (readonly [string, string])[]): Promise<number> {
  return new Promise((resolve, reject) => {
    const asking = request(ingress.url(path), { headers: headers.flat(), timeout: 10_000 }, (answer) => {
      answer.resume();
      resolve(answer.statusCode ?? 0);
    });
    asking.on('error', reject);
    asking.end();
  });
}

describe('a repeated header', () => {
  test('cannot hide the address that the proxy added in a line of its own', async () => {
    const { live } = await harness.tenant({ key: { networks: ['203.0.113.0/24'] } });
    const from = (...addresses: string[]) =>
      rawGet('/v1/sms/x', [
        ['host', 'x'],
        ['authorization', `Bearer ${live}`],
        ...addresses.map((address) => ['x-forwarded-for', address] as const),
      ]);
    await until('the key is known', async () => (await from('203.0.113.9')) === 404);
    expect(await from('203.0.113.9', '198.51.100.1')).toBe(403);
    expect(await from('198.51.100.1', '203.0.113.9')).toBe(404);
  });
});

describe('rates', () => {
  test('apply over both threads: exactly the burst is admitted, with the remainder reported each time', async () => {
    const { live } = await harness.tenant({ account: { rate: { perSecond: 1, burst: 10 } } });
    const beganMs = systemClock.monotonicMs();
    // `connection: close` gives each request a connection of its own, which the kernel distributes over the threads.
    const answers = await Promise.all(
      Array.from({ length: 30 }, () => post(ingress, live, goodBody, { connection: 'close' })),
    );
    const givenBack = Math.ceil((systemClock.monotonicMs() - beganMs) / 1_000);
    const statuses = answers.map((answer) => answer.status);
    expect(statuses.filter((status) => status === 202).length).toBeLessThanOrEqual(10 + givenBack);
    expect(statuses.filter((status) => status === 202).length).toBeGreaterThanOrEqual(10);
    const refused = answers.find((answer) => answer.status === 429);
    expect(refused?.body['code']).toBe('rate_limited');
    expect(refused?.headers.get('retry-after')).toBe('1');
    expect(refused?.headers.get('ratelimit-remaining')).toBe('0');
    const taken = answers.find((answer) => answer.status === 202);
    expect(taken?.headers.get('ratelimit-policy')).toBe('"account";q=10;w=10');
    expect(taken?.headers.get('ratelimit-limit')).toBe('10');
  });

  test('nothing is reported where nothing is limited', async () => {
    const { live } = await harness.tenant();
    expect((await post(ingress, live, goodBody)).headers.get('ratelimit-limit')).toBeNull();
  });

  test('idempotency keys have a quota: new ones are refused, repeats of old ones are answered', async () => {
    const { live } = await harness.tenant({ account: { idempotencyKeysPerHour: 2 } });
    const send = (key: string) => post(ingress, live, goodBody, { 'idempotency-key': key });
    const first = await send('one');
    expect([first.status, (await send('two')).status]).toEqual([202, 202]);
    const third = await send('three');
    expect([third.status, third.body['code']]).toEqual([429, 'idempotency_quota_exceeded']);
    expect(Number(third.headers.get('retry-after'))).toBeGreaterThan(1_000);
    expect((await send('one')).body['id']).toBe(first.body['id']);
    expect((await post(ingress, live, goodBody)).status).toBe(202);
  });
});

describe('texts', () => {
  test('a template gives the text; a wrong variable is named; an account that requires templates sends no other text', async () => {
    const { live, accountId } = await harness.tenant({ account: { requireTemplate: ['otp'] } });
    const templateId = 'tpl_01K3Z8Q4T6W9XAB2CD3EF4GH5J';
    const variables = [{ name: 'code', type: 'code', size: 6 }];
    const entry = { v: 1, templateId, accountId, category: 'otp', body: 'Your code is {{code}}.', variables };
    await harness.put('directory', `template.${accountId}.${templateId}`, JSON.stringify(entry));
    const { to, from } = goodBody;
    const send = (body: object) => post(ingress, live, { to, from, category: 'otp', ...body });
    const sent = await until('the template is known', async () => {
      const answer = await send({ template_id: templateId, variables: { code: '424242' } });
      return answer.status === 202 && answer;
    });
    const messages = await harness.messages('MT_OTP');
    expect(messages.find((message) => message.messageId === sent.body['id'])).toMatchObject({
      body: { text: 'Your code is 424242.' },
      templateId,
    });
    const wrong = await send({ template_id: templateId, variables: { code: '42', name: 'x' } });
    expect(wrong.body['errors']).toMatchObject([
      { field: 'variables.code', code: 'template_mismatch' },
      { field: 'variables.name', code: 'template_mismatch' },
    ]);
    expect((await send({ message: 'Your code is 111111.' })).status).toBe(202);
    expect((await send({ message: 'Win!' })).body['code']).toBe('template_mismatch');
    expect((await send({ message: 'x', template_id: templateId })).body['errors']).toMatchObject([
      { field: 'message' },
    ]);
  });

  test("the operator's words and the account's own block a text", async () => {
    const { live } = await harness.tenant({
      account: { content: { words: [], linksDenied: ['bit.ly'], linksAllowed: [] } },
    });
    expect((await post(ingress, live, { ...goodBody, message: 'The CASINO is open' })).body['code']).toBe(
      'content_blocked',
    );
    expect((await post(ingress, live, { ...goodBody, message: 'see bit.ly/x' })).body['code']).toBe('content_blocked');
    expect((await post(ingress, live, { ...goodBody, message: 'see example.com/x' })).status).toBe(202);
  });
});

test('a suppressed number is refused at every thread within a second', async () => {
  const { live, accountId } = await harness.tenant();
  const block = encodeBlock('v1', [{ number: 8801712345678, sender: '', category: 'promotional' }]);
  await harness.put('suppression', `block.${accountId}.0.0`, block);
  const send = (category: string) => post(ingress, live, { ...goodBody, category }, { connection: 'close' });
  await until(
    'refused twenty times in a row',
    async () => {
      const answers = await Promise.all(Array.from({ length: 20 }, () => send('promotional')));
      return answers.every((answer) => answer.body['code'] === 'recipient_opted_out');
    },
    within(1_500),
  );
  expect((await send('transactional')).status).toBe(202);
});

describe('a refused request', () => {
  test('leaves its code and its masked number, live and test separately, and is no message', async () => {
    const { live, test: testKey, accountId } = await harness.tenant({ senders: [] });
    await post(ingress, live, goodBody);
    await post(ingress, testKey, { ...goodBody, from: 'x'.repeat(300), client_reference: 'mine' });
    const events = await until('both are recorded', async () => {
      const found = await refusalsOf(accountId);
      return found.length === 2 && found;
    });
    const of = (livemode: boolean) => events.find((event) => event.livemode === livemode);
    expect(of(true)).toMatchObject({ error: 'sender_not_registered', recipient: '+88017******78', carrier: '' });
    expect(of(false)).toMatchObject({ error: 'invalid_field:from', sender: 'x'.repeat(16), clientReference: 'mine' });
  });

  test('of a whole batch leaves a record each', async () => {
    const { live, accountId } = await harness.tenant({ senders: [] });
    const messages = Array.from({ length: 300 }, () => goodBody);
    const { body } = await call(ingress, 'POST', '/v1/sms/batch', live, { messages });
    expect(body).toMatchObject({ accepted: 0, rejected: 300 });
    await until('all are recorded', async () => (await refusalsOf(accountId)).length === 300);
  });

  test('is listed under blocked and nowhere else', async () => {
    const { live, accountId } = await harness.tenant();
    const analytics = await harness.analytics();
    // 503 while the event store is too busy to answer in time.
    const list = (query: string) =>
      until(`the list ${query}`, async () => {
        const answer = await fetch(ingress.url(`/v1/sms${query}`), { headers: { authorization: `Bearer ${live}` } });
        return ((await answer.json()) as { data?: Record<string, any>[] }).data;
      });
    await post(ingress, live, { ...goodBody, message: 'casino' });
    const sent = await post(ingress, live, goodBody);
    const [blocked] = await until('the refusal is listed', async () => {
      const data = await list('?status=blocked');
      return data.length === 1 && data;
    });
    expect(blocked).toMatchObject({
      object: 'refused_request',
      status: 'blocked',
      error: 'content_blocked',
      to: '+88017******78',
    });
    expect(blocked?.['history'].map((entry: any) => entry.status)).toEqual(['blocked']);
    const plain = await until('the message is listed', async () => {
      const data = await list('');
      return data.length > 0 && data;
    });
    expect(plain.map((each) => each['id'])).toEqual([sent.body['id']]);
    expect((await list(`?status=blocked&to=${encodeURIComponent(goodBody.to)}`)).length).toBe(1);
    expect((await list('?status=blocked&to=%2B8801799999999')).length).toBe(0);
    expect(accountId).toBeTruthy();
    await analytics.stop();
  });
});
