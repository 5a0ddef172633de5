// A number that too many wrong guesses have locked, and is unlocked by a person: over the routes of a real ingress, with a
// real nats-server, and while another process writes.
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { placingSecret } from '../../acceptance/idempotency/key-place.ts';
import { OtpStore } from '../../acceptance/otp/store.ts';
import { Publisher } from '../../cluster/bus/publisher.ts';
import { streamOfBucket } from '../../cluster/bus/streams.ts';
import { unlockNumber } from '../../control/otp-unlock.ts';
import type { AccountId } from '../../model/ids.ts';
import { systemClock } from '../../platform/clock.ts';
import { limits } from '../../platform/limits.ts';
import { otpLimitsDefault as rules } from '../../policy/otp/contract.ts';
import { countGuess } from '../../policy/otp/rules.ts';
import { type OtpClient, freshNumber, openOtpClient, otherThan } from '../api/http/otp/otp-client.ts';

const client: OtpClient = await openOtpClient();
const { harness, tenant, start, verify, resend, get } = client;
const owner = { accountId: tenant.accountId as AccountId, livemode: false };
let publisher: Publisher;
let otps: OtpStore;
beforeAll(async () => {
  publisher = new Publisher(harness.bus, limits.otp.writes);
  otps = new OtpStore(harness.bus, publisher, await placingSecret(harness.bus));
});
afterAll(async () => {
  publisher.close();
  await harness.stop();
});

const unlock = (to: string) => unlockNumber(harness.bus, owner, to, { name: 'operator', from: 'test' }, systemClock);
const failuresOf = async (to: string) => (await otps.read(owner, otps.placeOf(owner, to)))?.failuresMs;
/** As an hour after the last write of every record. */
const forgetRecords = () => harness.bus.manager.streams.purge(streamOfBucket('otp'));

/** Twenty wrong guesses over four codes; the ids of the codes. */
async function lock(to: string): Promise<string[]> {
  const ids: string[] = [];
  for (let nth = 0; nth < 4; nth += 1) {
    const { id, test_code: code } = (await start({ to, purpose: `p${nth}` })).body;
    ids.push(id);
    for (let guess = 0; guess < 5; guess += 1) await verify(id, otherThan(code));
  }
  expect(await start({ to })).toMatchObject({ status: 429, body: { code: 'otp_locked' } });
  return ids;
}

describe('a locked number', () => {
  test('gets codes again, also beyond the hour of its record; what has ended stays so', async () => {
    const to = freshNumber();
    const [first = ''] = await lock(to);
    expect(await unlock(to)).toEqual({ object: 'otp_unlock', to, failed_guesses: 20 });
    expect((await get(first)).body).toMatchObject({ status: 'max_attempts_reached', attempts_remaining: 0 });
    const { status, body } = await start({ to });
    expect(status).toBe(201);
    expect((await verify(body['id'], body['test_code'])).body).toMatchObject({ valid: true });
    expect(await unlock(to)).toMatchObject({ failed_guesses: 0 });
    await forgetRecords();
    expect(await failuresOf(to)).toEqual([]);
    expect((await start({ to })).status).toBe(201);
  });

  test('stays unlocked beyond that although a guess was being compared, which keeps what it knew', async () => {
    const to = freshNumber();
    await lock(to);
    const known = (await failuresOf(to)) ?? [];
    expect(known).toHaveLength(20);
    await unlock(to);
    await otps.keepFailures(owner, otps.placeOf(owner, to), known);
    await forgetRecords();
    expect(await failuresOf(to)).toEqual([]);
  });

  test('is unlocked by a repeat when the first process ended in between', async () => {
    const to = freshNumber();
    await lock(to);
    const doomed = new EndingPublisher(harness.bus, limits.otp.writes);
    const first = new OtpStore(harness.bus, doomed, await placingSecret(harness.bus));
    await expect(first.forgetFailures(owner, otps.placeOf(owner, to), systemClock.nowMs())).rejects.toThrow();
    doomed.close();
    expect(await failuresOf(to)).toHaveLength(20);
    expect(await unlock(to)).toMatchObject({ failed_guesses: 20 });
    expect((await start({ to })).status).toBe(201);
  });
});

test('codes that wait get no attempts back, sends stay counted, and later wrong guesses count', async () => {
  const to = freshNumber();
  const { id, test_code: code } = (await start({ to })).body;
  for (let guess = 0; guess < 3; guess += 1) await verify(id, otherThan(code));
  for (let sends = 0; sends < 4; sends += 1) expect((await resend(id)).status).toBe(200);
  expect(await unlock(to)).toMatchObject({ failed_guesses: 3 });
  expect((await get(id)).body).toMatchObject({ status: 'pending', attempts_remaining: 2 });
  expect(await resend(id)).toMatchObject({ status: 429, body: { limit: { counted: 'sends', dimension: 'number' } } });
  await verify(id, otherThan(code));
  expect(await failuresOf(to)).toHaveLength(1);
  await forgetRecords();
  expect(await failuresOf(to)).toHaveLength(1);
});

test('a wrong guess after it counts, also on a machine whose clock is behind', async () => {
  const to = freshNumber();
  const { id, test_code: code } = (await start({ to })).body;
  await verify(id, otherThan(code));
  await unlock(to);
  const place = otps.placeOf(owner, to);
  const behindMs = systemClock.nowMs() - 20_000;
  await otps.change(owner, place, (held) => countGuess(held, id, ['behind'], rules, behindMs));
  const counted = await failuresOf(to);
  expect(counted).toHaveLength(1);
  await otps.keepFailures(owner, place, counted ?? []);
  await forgetRecords();
  expect(await failuresOf(to)).toEqual(counted);
});

test('a number that was never sent a code is unlocked without a record', async () => {
  const to = freshNumber();
  expect(await unlock(to)).toMatchObject({ failed_guesses: 0 });
  const place = otps.placeOf(owner, to);
  await otps.keepFailures(owner, place, [systemClock.nowMs()]);
  expect(await unlock(to)).toMatchObject({ failed_guesses: 1 });
  expect(await otps.read(owner, place)).toMatchObject({ to: null, failuresMs: [] });
});

/** Stores the first record, and no other one. */
class EndingPublisher extends Publisher {
  #stored = 0;

  override publishOne(...record: Parameters<Publisher['publishOne']>): ReturnType<Publisher['publishOne']> {
    this.#stored += 1;
    if (this.#stored === 1) return super.publishOne(...record);
    this.close();
    return super.publishOne(...record);
  }
}
