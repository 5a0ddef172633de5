// One-time passwords over what changes between a start and its verification: the process, the body key, the clock, and the
// record of the number.
import { afterAll, expect, test } from 'vitest';
import { streamOfBucket } from '../../../../cluster/bus/streams.ts';
import { bodyKeyId } from '../../../../model/records/body-keys.ts';
import { systemClock } from '../../../../platform/clock.ts';
import { bodyKey } from '../harness.ts';
import { type OtpClient, freshNumber, openOtpClient, otherThan } from './otp-client.ts';

const client: OtpClient = await openOtpClient(1);
const { harness, ingress, start, verify, get } = client;
afterAll(() => harness.stop());

test('a killed ingress, a rotated key and a later clock: the code counts until its time, and no guess is forgotten', async () => {
  const [one, two, short] = [await start(), await start(), await start({ ttl_seconds: 30 })];
  await verify(one.body['id'], otherThan(one.body['test_code']));
  await ingress.kill9();
  const rotated = [Buffer.alloc(32, 9), bodyKey].map((key) => key.toString('base64')).join(',');
  const rightClock = await harness.ingress({ HELIOGRAPH_BODY_KEY: rotated });
  client.use(rightClock);
  expect((await get(one.body['id'])).body).toMatchObject({ status: 'pending', attempts_remaining: 4 });
  expect((await verify(one.body['id'], one.body['test_code'])).body).toMatchObject({
    valid: true,
    attempts_remaining: 3,
  });
  const fresh = await start();
  expect((await verify(fresh.body['id'], fresh.body['test_code'])).body).toMatchObject({ valid: true });

  const later = { HELIOGRAPH_OWN_BUS: 'yes', CLOCK_SHIFT_MS: '31000' };
  client.use(await harness.ingress({ HELIOGRAPH_BODY_KEY: rotated, ...later }));
  expect((await verify(short.body['id'], short.body['test_code'])).body).toMatchObject({
    valid: false,
    status: 'expired',
  });
  expect((await get(short.body['id'])).body).toMatchObject({ status: 'expired', attempts_remaining: 5 });
  expect((await verify(two.body['id'], two.body['test_code'])).body).toMatchObject({ valid: true });
  client.use(rightClock);
});

test('guesses at a code whose body key is lost are 500 and do not lock the number of who has the right code', async () => {
  const useKeys = async (...keys: string[]) =>
    client.use(await harness.ingress({ HELIOGRAPH_BODY_KEY: keys.join(',') }));
  const [oldKey, newKey] = [bodyKey, Buffer.alloc(32, 9)].map((key) => key.toString('base64')) as [string, string];
  // The first one seals; another test may have used the second.
  await useKeys(oldKey, newKey);
  const { body } = await start();
  // Without the last one it does not start.
  await useKeys(newKey, `gone:${bodyKeyId(bodyKey)}`);
  for (let guess = 0; guess < 21; guess += 1) {
    const headers = { 'idempotency-key': `lost ${guess} ${body['id']}` };
    const answer = await verify(body['id'], body['test_code'], guess < 19 ? {} : { headers });
    expect(answer).toMatchObject({ status: 500, body: { code: 'internal_error' } });
  }
  expect((await get(body['id'])).body).toMatchObject({ status: 'pending', attempts_remaining: 5 });
  // The operator has brought it back.
  await useKeys(newKey, oldKey);
  expect((await verify(body['id'], body['test_code'])).body).toMatchObject({ valid: true });
});

test.each([
  ['the new key after the old one', 0, 1],
  ['the old key after the new one, at a machine that is not rotated yet', 1, 0],
])('an automatic key repeats the answer to a right code with %s, and to no other code', async (_, first, second) => {
  const keys = [bodyKey, Buffer.alloc(32, 9)].map((key) => key.toString('base64'));
  const both = [keys.join(','), keys.toReversed().join(',')] as const;
  const [before, after] = [both[first], both[second]].map((key) => harness.ingress({ HELIOGRAPH_BODY_KEY: key ?? '' }));
  client.use(await before!);
  const { body } = await start();
  const repeating = await after!;
  const key = `auto_${Math.floor(systemClock.nowMs()) + 4_000}_${String(first).padStart(16, '0')}`;
  const guess = (code: string) => verify(body['id'], code, { headers: { 'idempotency-key': key } });
  expect((await guess(body['test_code'])).body).toMatchObject({ valid: true });
  client.use(repeating);
  expect((await guess(body['test_code'])).body).toMatchObject({ valid: true, status: 'verified' });
  expect((await guess(otherThan(body['test_code']))).body).toMatchObject({ code: 'otp_already_verified' });
});

test('failed guesses outlive the record of their number', async () => {
  const to = freshNumber();
  for (const purpose of ['a', 'b', 'c', 'd']) {
    const { body } = await start({ to, purpose });
    for (let guess = 0; guess < 5; guess += 1) await verify(body['id'], otherThan(body['test_code']));
  }
  // As after its hour.
  await harness.bus.manager.streams.purge(streamOfBucket('otp'));
  expect(await start({ to })).toMatchObject({ status: 429, body: { code: 'otp_locked' } });
  expect(await start()).toMatchObject({ status: 201 });
});
