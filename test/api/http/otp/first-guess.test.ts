// Guesses when a limit over guesses at other numbers is reached: the first one at a number passes, at any number, and no
// other one. A real ingress with two threads and a real nats-server.
import { afterAll, describe, expect, test } from 'vitest';
import { type OtpId, placeOfOtp } from '../../../../model/ids.ts';
import { otpLimitsDefault, otpRulesDefault } from '../../../../policy/otp/contract.ts';
import { recordsOf } from '../../../support/bus.ts';
import { type Ingress, type Tenant, call } from '../harness.ts';
import { freshNumber, openOtpClient, otherThan } from './otp-client.ts';

const { harness } = await openOtpClient(1);
afterAll(() => harness.stop());

const once = { count: 1, perMs: 3_600_000 };
const ingressWith = (guesses: object) =>
  harness.ingress({}, 2, {
    otp: { ...otpRulesDefault, limits: { ...otpLimitsDefault, guesses: { ...otpLimitsDefault.guesses, ...guesses } } },
  });

function userOf(ingress: Ingress, { test: token, accountId }: Tenant) {
  const guess = (id: string, code: string, body = {}) =>
    call(ingress, 'POST', `/v1/otp/${id}/verify`, token, { code, ...body });
  return {
    start: async (to = freshNumber()) => (await call(ingress, 'POST', '/v1/otp', token, { to })).body,
    guess,
    async guessWrong(): Promise<string> {
      const { id, test_code: code } = await this.start();
      expect(await guess(id, otherThan(code))).toMatchObject({ status: 200, body: { valid: false } });
      return id as string;
    },
    keptOf: (id: string) =>
      recordsOf(harness.bus, 'KV_otp_failures', `$KV.otp_failures.${accountId}.test.${placeOfOtp(id as OtpId)}`),
  };
}

describe.each(['account', 'prefix'] as const)('beyond the limit of the %s', async (dimension) => {
  const ingress = await ingressWith({ [dimension]: once });
  const reached = { counted: 'guesses', dimension, limit: '1/1h' };

  test('who types the code correctly is not refused, and who had it wrong waits', async () => {
    const user = userOf(ingress, await harness.tenant());
    const wrong = await user.guessWrong();
    const right = await user.start();
    expect((await user.guess(right['id'], right['test_code'])).body).toMatchObject({ valid: true, status: 'verified' });
    const second = await user.guess(wrong, '000000');
    expect(second).toMatchObject({ status: 429, body: { code: 'otp_rate_limited', limit: reached } });
    expect(Number(second.headers.get('retry-after'))).toBeGreaterThan(3_500);
  });

  test('of 50 first guesses at once at one number one is compared', async () => {
    const user = userOf(ingress, await harness.tenant());
    await user.guessWrong();
    const { id, test_code: code } = await user.start();
    const answers = await Promise.all(Array.from({ length: 50 }, () => user.guess(id, otherThan(code))));
    const statuses = answers.map(({ status }) => status).toSorted((one, other) => one - other);
    expect(statuses).toEqual([200, ...Array(49).fill(429)]);
    expect(answers.find(({ status }) => status === 200)?.body).toMatchObject({ valid: false, attempts_remaining: 4 });
  });
});

test('a wrong guess beyond the limit is counted in the record of its number, and in no place that accounts share', async () => {
  const user = userOf(await ingressWith({ account: once }), await harness.tenant());
  const within = await user.guessWrong();
  const beyond = await user.guessWrong();
  expect([(await user.keptOf(within)).length, (await user.keptOf(beyond)).length]).toEqual([1, 0]);
  expect((await user.guess(beyond, '000000')).status).toBe(429);
});

test('a limit of the client’s own refuses a first guess, too, and what is refused uses up none', async () => {
  const user = userOf(await ingressWith({ account: { ...once, count: 2 }, device_id: once }), await harness.tenant());
  const [one, two] = [await user.start(), await user.start()];
  const phone = { device_id: 'phone' };
  expect(await user.guess(one['id'], otherThan(one['test_code']), phone)).toMatchObject({ status: 200 });
  for (let tries = 0; tries < 3; tries += 1) {
    const { status, body } = await user.guess(two['id'], otherThan(two['test_code']), phone);
    expect([status, body['limit']?.dimension]).toEqual([429, 'device_id']);
  }
  // One of the two of the account is left, so that a second guess at a number passes.
  expect(await user.guess(one['id'], otherThan(one['test_code']))).toMatchObject({ status: 200 });
  expect(await user.guess(one['id'], otherThan(one['test_code']))).toMatchObject({ status: 429 });
});
