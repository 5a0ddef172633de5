// The limits of one-time passwords over prefixes, addresses, devices and accounts, against a real ingress and a real
// nats-server: each is counted at its bound.
import { afterAll, expect, test } from 'vitest';
import { otpLimitsDefault, otpRulesDefault } from '../../../../policy/otp/contract.ts';
import { call } from '../harness.ts';
import { freshNumber, openOtpClient, otherThan } from './otp-client.ts';

const { harness } = await openOtpClient();
afterAll(() => harness.stop());

test('what is refused uses up nobody else’s limit', async () => {
  const limits = {
    ...otpLimitsDefault,
    sends: {
      ...otpLimitsDefault.sends,
      prefix: { count: 8, perMs: 3_600_000 },
      account: { count: 9, perMs: 3_600_000 },
    },
  };
  const strict = await harness.ingress({}, 1, { otp: { ...otpRulesDefault, limits } });
  const owner = await harness.tenant();
  const number = freshNumber();
  const ask = async (to: string, body: object = {}) => {
    const { status, body: answer } = await call(strict, 'POST', '/v1/otp', owner.test, { to, ...body });
    return [status, answer['code'] ?? answer['id']];
  };
  const purposes = Array.from({ length: 20 }, (_, at) => `p${at}`);
  const asked: (readonly [number, string])[] = [];
  for (const purpose of purposes) asked.push((await ask(number, { purpose })) as [number, string]);
  expect(asked.map(([status]) => status)).toEqual([...Array(5).fill(201), ...Array(15).fill(429)]);
  const [, first] = asked[0]!;
  for (let at = 0; at < 10; at += 1) {
    expect(await call(strict, 'POST', `/v1/otp/${first}/resend`, owner.test, {})).toMatchObject({ status: 429 });
  }
  // Three of eight are left of the prefix, and four of nine of the account.
  const neighbour = (at: number) => number.slice(0, -2) + String(at).padStart(2, '0');
  const others = [11, 12, 13, 14].filter((at) => neighbour(at) !== number).slice(0, 3);
  for (const at of others) expect(await ask(neighbour(at))).toEqual([201, expect.stringMatching(/^otp_/)]);
  expect(await ask(neighbour(77))).toEqual([429, 'otp_rate_limited']);
  expect(await ask('+8801812345678')).toEqual([201, expect.stringMatching(/^otp_/)]);
  expect(await ask('+8801912345678')).toEqual([429, 'otp_rate_limited']);
});

test('addresses of one household are one, however they are written', async () => {
  const sends = { ...otpLimitsDefault.sends, client_ip: { count: 2, perMs: 3_600_000 } };
  const strict = await harness.ingress({}, 1, { otp: { ...otpRulesDefault, limits: { ...otpLimitsDefault, sends } } });
  const owner = await harness.tenant();
  const ask = async (address: string) =>
    (await call(strict, 'POST', '/v1/otp', owner.test, { to: freshNumber(), client_ip: address })).status;
  expect([await ask('2001:db8:0:7::1'), await ask('2001:DB8::7:0:0:0:9')]).toEqual([201, 201]);
  expect([await ask('2001:db8:0:7:ffff::1'), await ask('2001:db8:0:8::1')]).toEqual([429, 201]);
  expect([await ask('203.0.113.9'), await ask('::ffff:203.0.113.9')]).toEqual([201, 201]);
  expect([await ask('::ffff:cb00:7109'), await ask('203.0.113.10')]).toEqual([429, 201]);
});

test('guesses at the same moment count too: no more wrong ones than the limit are compared, and a right one is none', async () => {
  const guesses = { ...otpLimitsDefault.guesses, device_id: { count: 3, perMs: 3_600_000 } };
  const strict = await harness.ingress({}, 1, {
    otp: { ...otpRulesDefault, limits: { ...otpLimitsDefault, guesses } },
  });
  const owner = await harness.tenant();
  const begin = async () => (await call(strict, 'POST', '/v1/otp', owner.test, { to: freshNumber() })).body;
  const guess = async ({ id }: { id?: string }, code: string) =>
    (await call(strict, 'POST', `/v1/otp/${id}/verify`, owner.test, { code, device_id: 'phone' })).status;
  for (let at = 0; at < 5; at += 1) {
    const right = await begin();
    expect(await guess(right, right['test_code'] as string)).toBe(200);
  }
  const all = await Promise.all(Array.from({ length: 8 }, begin));
  const answers = await Promise.all(all.map((each) => guess(each, otherThan(each['test_code'] as string))));
  expect(answers.toSorted((one, other) => one - other)).toEqual([200, 200, 200, 429, 429, 429, 429, 429]);
});

test('limits over address, device and account answer 429 with the time to wait', async () => {
  const limits = {
    ...otpLimitsDefault,
    sends: { ...otpLimitsDefault.sends, client_ip: { count: 2, perMs: 3_600_000 } },
  };
  const guesses = { ...limits.guesses, device_id: { count: 1, perMs: 3_600_000 } };
  const strict = await harness.ingress({}, 1, { otp: { ...otpRulesDefault, limits: { ...limits, guesses } } });
  const owner = await harness.tenant();
  const ask = (body: object) => call(strict, 'POST', '/v1/otp', owner.test, { to: freshNumber(), ...body });
  const client = { client_ip: '203.0.113.7' };
  const [one, two, three] = [await ask(client), await ask(client), await ask(client)];
  expect([one.status, two.status, three.status]).toEqual([201, 201, 429]);
  expect(three.body).toMatchObject({
    code: 'otp_rate_limited',
    detail: 'more than 2 sends in 3600 s for this client_ip',
  });
  expect(Number(three.headers.get('retry-after'))).toBeGreaterThan(1_700);
  expect(await ask({ client_ip: '203.0.113.8' })).toMatchObject({ status: 201 });
  const guess = (code: string) =>
    call(strict, 'POST', `/v1/otp/${one.body['id']}/verify`, owner.test, { code, device_id: 'phone' });
  expect(await guess(otherThan(one.body['test_code']))).toMatchObject({ status: 200, body: { valid: false } });
  expect(await guess(one.body['test_code'])).toMatchObject({ status: 429, body: { code: 'otp_rate_limited' } });
  expect((await call(strict, 'GET', `/v1/otp/${one.body['id']}`, owner.test)).body).toMatchObject({
    attempts_remaining: 4,
  });
  const account = { count: 1, perMs: 3_600_000 };
  const small = { ...otpLimitsDefault, sends: { ...otpLimitsDefault.sends, account } };
  const narrow = await harness.ingress({}, 1, { otp: { ...otpRulesDefault, limits: small } });
  const both = [1, 2].map(() => call(narrow, 'POST', '/v1/otp', owner.test, { to: freshNumber() }));
  const statuses = (await Promise.all(both)).map(({ status }) => status);
  expect(statuses.toSorted((one, other) => one - other)).toEqual([201, 429]);
});
