// Failed guesses of a number beyond the hour of its record, with a real nats-server: which of them are kept for their day.
import { afterAll, beforeAll, expect, test } from 'vitest';
import { OtpStore } from '../../../acceptance/otp/store.ts';
import { type VerifyParts, verifyCode } from '../../../acceptance/otp/verify.ts';
import type { Principal } from '../../../acceptance/principal.ts';
import { Publisher } from '../../../cluster/bus/publisher.ts';
import { streamOfBucket } from '../../../cluster/bus/streams.ts';
import { type AccountId, type OtpId, newMessageId, otpIdOf, placeOfOtp } from '../../../model/ids.ts';
import { bodyCipher } from '../../../model/records/body-cipher.ts';
import { otpBinding } from '../../../model/records/otp-record.ts';
import { limits } from '../../../platform/limits.ts';
import { otpLimitsDefault as rules } from '../../../policy/otp/contract.ts';
import { countGuess, verifyOtp } from '../../../policy/otp/rules.ts';
import { type TestBus, startBus } from '../../support/bus.ts';
import { ManualClock } from '../../support/manual-clock.ts';
import { type OtpNumbers, openOtpNumbers, otpNumber } from '../../support/otp-numbers.ts';

const accountId = 'acc_01JABCDEFGHJKMNPQRSTVWXYZ0' as AccountId;
const owner = { accountId, livemode: true };
const principal = { account: { accountId }, livemode: true } as unknown as Principal;
const cipher = bodyCipher(Buffer.alloc(32, 7));
let server: TestBus;
let numbers: OtpNumbers;
let publisher: Publisher;
let otps: OtpStore;
beforeAll(async () => {
  server = await startBus();
  numbers = openOtpNumbers(server.bus, accountId);
  publisher = new Publisher(server.bus, limits.otp.writes);
  otps = new OtpStore(server.bus, publisher, Buffer.alloc(32, 1));
});
afterAll(async () => {
  numbers.close();
  publisher.close();
  await server.stop();
});

/** One with the code 493817. */
async function start(nowMs: number): Promise<OtpId> {
  const to = otpNumber(1);
  const messageId = newMessageId(nowMs);
  const id = otpIdOf(messageId, otps.placeOf(owner, to));
  const secret = Buffer.from(JSON.stringify({ code: '493817', text: '493817' }));
  const sealed = cipher.seal(secret, otpBinding(id, accountId, to)).toString('base64');
  await numbers.start(to, {
    id,
    sealed,
    createdAtMs: nowMs,
    expiresAtMs: nowMs + 300_000,
    sends: [{ messageId, atMs: nowMs }],
  });
  return id;
}

test('a right guess that is compared while a wrong one is stored counts for no day', async () => {
  const clock = new ManualClock();
  const parts: VerifyParts = { otps, clock, otpLimits: () => rules, cipher };
  const id = await start(clock.nowMs());
  const place = placeOfOtp(id);
  const count = async (by: string) => {
    const counted = await otps.change(owner, place, (held) => countGuess(held, id, [by], rules, clock.nowMs()));
    if (!counted.ok || counted.answer.kind !== 'counted') throw new Error('the guess was not counted');
    return counted.answer.countedAtMs;
  };
  const lostAtMs = await count('its process ended before it was compared');
  clock.advance(limits.facts.graceMs + 1);
  const rightAtMs = await count('right');
  expect(await verifyCode(parts, principal, id, { code: '000000', by: ['wrong'] })).toMatchObject({ isWrong: true });
  const verified = await otps.change(owner, place, (held) =>
    verifyOtp(held, id, ['right'], rightAtMs, rules, clock.nowMs()),
  );
  expect(verified).toMatchObject({ answer: { valid: true } });
  const counting = (await otps.read(owner, place))?.failuresMs;
  expect(counting).toEqual([lostAtMs, rightAtMs + 1]);
  // As after the hour of the record.
  await server.bus.manager.streams.purge(streamOfBucket('otp'));
  expect((await otps.read(owner, place))?.failuresMs.toSorted()).toEqual(counting);
});
