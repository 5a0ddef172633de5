// Verifications against a real ingress with two threads and a real nats-server, many of them at once. No PostgreSQL and no
// event store run.
import { afterAll, describe, expect, test } from 'vitest';
import { type OtpId, placeOfOtp } from '../../../../model/ids.ts';
import { decodeOtpNumber } from '../../../../model/records/otp-record.ts';
import { recordsOf } from '../../../support/bus.ts';
import { type OtpClient, freshNumber, openOtpClient, otherThan } from './otp-client.ts';

const client: OtpClient = await openOtpClient();
const { harness, tenant, start, verify, get } = client;
afterAll(() => harness.stop());

/** What is stored of its number: a guess is counted there before it is compared. */
async function recordOf(id: string) {
  const subject = `$KV.otp.${tenant.accountId}.test.${placeOfOtp(id as OtpId)}`;
  const record = (await recordsOf(harness.bus, 'KV_otp', subject)).at(-1);
  return decodeOtpNumber(record!.data).number;
}

describe('a verification', () => {
  test('is valid once, and says afterwards how it ended', async () => {
    const { body } = await start();
    const right = await verify(body['id'], body['test_code']);
    expect(right).toMatchObject({ status: 200 });
    expect(right.body).toEqual({ id: body['id'], status: 'verified', valid: true, attempts_remaining: 4 });
    const used = { status: 409, body: { code: 'otp_already_verified' } };
    expect(await verify(body['id'], body['test_code'])).toMatchObject(used);
    expect((await get(body['id'])).body).toMatchObject({ status: 'verified', reason: null });
  });

  test('reads digits of other scripts, spaces and dashes', async () => {
    for (const typed of ['৪৯৩৮১৭', '٤٩٣٨١٧', '493 817', '493-817', ' ４９３８１７\u200f']) {
      const { body } = await start({ code: '493817' });
      expect([typed, (await verify(body['id'], typed)).body]).toEqual([
        typed,
        expect.objectContaining({ valid: true }),
      ]);
    }
    const { body } = await start({ code: '007007' });
    expect((await verify(body['id'], '7007')).body).toMatchObject({ valid: false });
    expect(await verify(body['id'], 'abc')).toMatchObject({ status: 422, body: { code: 'invalid_field' } });
    expect((await get(body['id'])).body).toMatchObject({ attempts_remaining: 4 });
  });

  test('100 wrong guesses and a right one at once: at most five are compared, and success is one', async () => {
    for (let round = 0; round < 5; round += 1) {
      const { body } = await start();
      const wrong = otherThan(body['test_code']);
      const guesses = Array.from({ length: 101 }, (_, at) => verify(body['id'], at === 50 ? body['test_code'] : wrong));
      const answers = await Promise.all(guesses);
      const valid = answers.filter((each) => each.body['valid'] === true);
      const { body: state } = await get(body['id']);
      const record = await recordOf(body['id']);
      expect(record.otps.find(({ id }) => id === body['id'])?.attempts).toBeLessThanOrEqual(5);
      expect(record.failuresMs.length).toBe(5 - valid.length);
      const isExpected = ({ status, body }: (typeof answers)[number]) =>
        status === 200 || body['code'] === 'otp_already_verified';
      expect(answers.filter((each) => !isExpected(each))).toEqual([]);
      expect([state['status'], valid.length]).toEqual(
        valid.length === 1 ? ['verified', 1] : ['max_attempts_reached', 0],
      );
      const late = await verify(body['id'], body['test_code']);
      expect(late.status === 200 ? late.body['valid'] : late.body['code']).toBe(
        valid.length === 1 ? 'otp_already_verified' : false,
      );
    }
  });

  test('two right guesses at once are valid once', async () => {
    for (let round = 0; round < 10; round += 1) {
      const { body } = await start();
      const answers = await Promise.all([1, 2, 3].map(() => verify(body['id'], body['test_code'])));
      expect(answers.filter((each) => each.body['valid'] === true)).toHaveLength(1);
      expect(answers.map(({ status }) => status).toSorted((one, other) => one - other)).toEqual([200, 409, 409]);
    }
  });

  test('the fifth wrong guess ends it: the right one comes too late', async () => {
    const { body } = await start();
    const wrong = otherThan(body['test_code']);
    for (const left of [4, 3, 2, 1]) {
      expect((await verify(body['id'], wrong)).body).toMatchObject({ status: 'pending', attempts_remaining: left });
    }
    expect((await verify(body['id'], wrong)).body).toMatchObject({
      status: 'max_attempts_reached',
      attempts_remaining: 0,
    });
    expect((await verify(body['id'], body['test_code'])).body).toMatchObject({
      valid: false,
      status: 'max_attempts_reached',
    });
  });

  test('success cancels the other code of the number and purpose, and none else', async () => {
    const to = freshNumber();
    const [one, two] = [await start({ to }), await start({ to })];
    const other = await start({ to, purpose: 'payment' });
    expect((await verify(two.body['id'], two.body['test_code'])).body).toMatchObject({ valid: true });
    expect((await get(one.body['id'])).body).toMatchObject({ status: 'canceled' });
    expect((await verify(one.body['id'], one.body['test_code'])).body).toMatchObject({
      valid: false,
      status: 'canceled',
    });
    expect((await verify(other.body['id'], other.body['test_code'])).body).toMatchObject({ valid: true });
  });

  test('only the Idempotency-Key of a right guess gets its answer again', async () => {
    const { body } = await start();
    const headers = { 'idempotency-key': `verify ${body['id']}` };
    const first = await verify(body['id'], body['test_code'], { headers });
    const again = await verify(body['id'], body['test_code'], { headers });
    expect(first.body).toMatchObject({ valid: true });
    expect(again.body).toEqual(first.body);
    expect(again.headers.get('idempotent-replayed')).toBe('true');
    const another = { headers: { 'idempotency-key': 'another' } };
    expect((await verify(body['id'], body['test_code'], another)).status).toBe(409);
    expect(await verify(body['id'], otherThan(body['test_code']), { headers })).toMatchObject({
      status: 422,
      body: { code: 'idempotency_key_reused' },
    });
  });
});
