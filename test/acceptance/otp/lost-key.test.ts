// A code that cannot be opened, because its body key is gone or because it was sealed for something else: no guess counts,
// and nobody else's record opens it. A real nats-server.
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { openOtp } from '../../../acceptance/otp/send.ts';
import { OtpStore } from '../../../acceptance/otp/store.ts';
import { type VerifyParts, verifyCode } from '../../../acceptance/otp/verify.ts';
import type { Principal } from '../../../acceptance/principal.ts';
import { Publisher } from '../../../cluster/bus/publisher.ts';
import { type AccountId, type OtpId, newMessageId, otpIdOf, placeOfOtp } from '../../../model/ids.ts';
import type { Otp } from '../../../model/otp.ts';
import { type BodyCipher, bodyCipher } from '../../../model/records/body-cipher.ts';
import { otpBinding } from '../../../model/records/otp-record.ts';
import { limits } from '../../../platform/limits.ts';
import { otpLimitsDefault as rules } from '../../../policy/otp/contract.ts';
import { countGuess, withdrawGuess } from '../../../policy/otp/rules.ts';
import { type TestBus, startBus } from '../../support/bus.ts';
import { ManualClock } from '../../support/manual-clock.ts';
import { type OtpNumbers, openOtpNumbers, otpNumber } from '../../support/otp-numbers.ts';

const accountId = 'acc_01JABCDEFGHJKMNPQRSTVWXYZ0' as AccountId;
const owner = { accountId, livemode: true };
const principal = { account: { accountId }, livemode: true } as unknown as Principal;
const [cipher, lost] = [bodyCipher(Buffer.alloc(32, 7)), bodyCipher(Buffer.alloc(32, 8))];
const clock = new ManualClock();
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
async function start(to: string): Promise<Otp> {
  const nowMs = clock.nowMs();
  const messageId = newMessageId(nowMs);
  const id = otpIdOf(messageId, otps.placeOf(owner, to));
  const secret = Buffer.from(JSON.stringify({ code: '493817', text: 'Your code is 493817' }));
  const sealed = cipher.seal(secret, otpBinding(id, accountId, to)).toString('base64');
  const times = { createdAtMs: nowMs, expiresAtMs: nowMs + 300_000 };
  return numbers.start(to, { id, sealed, ...times, sends: [{ messageId, atMs: nowMs }] });
}

let requests = 0;
const guess = (id: OtpId, code: string, opening: BodyCipher, by = `r${(requests += 1)}`) => {
  const parts: VerifyParts = { otps, clock, otpLimits: () => rules, cipher: opening };
  return verifyCode(parts, principal, id, { code, by: [by] });
};
const recordOf = async (id: OtpId) => {
  const number = await numbers.read(id);
  return { attempts: number?.otps.find((otp) => otp.id === id)?.attempts, failuresMs: number?.failuresMs };
};
/** As a process counts one that it has not compared yet; when it was counted. */
async function counted(id: OtpId, by: string): Promise<number> {
  const changed = await otps.change(owner, placeOfOtp(id), (held) => countGuess(held, id, [by], rules, clock.nowMs()));
  if (!changed.ok || changed.answer.kind !== 'counted') throw new Error('the guess was not counted');
  return changed.answer.countedAtMs;
}

describe('a guess at a code that cannot be opened', () => {
  test('counts neither for its code nor for its number, whose 20 failures of a day it would be', async () => {
    const { id } = await start(otpNumber(1));
    for (let at = 0; at < 21; at += 1) await expect(guess(id, '493817', lost)).rejects.toThrow('body key');
    expect(await recordOf(id)).toEqual({ attempts: 0, failuresMs: [] });
    expect(await guess(id, '493817', cipher)).toMatchObject({ valid: true, attemptsRemaining: 4 });
  });

  test('takes back its own place only, of several at once', async () => {
    const { id } = await start(otpNumber(2));
    const otherAtMs = await counted(id, 'compared by another process');
    await Promise.all([1, 2, 3].map(() => expect(guess(id, '493817', lost)).rejects.toThrow('body key')));
    expect(await recordOf(id)).toEqual({ attempts: 1, failuresMs: [otherAtMs] });
  });

  test('takes nothing back of a first try that another node has compared', async () => {
    const { id } = await start(otpNumber(6));
    expect(await guess(id, '000000', cipher, 'same')).toMatchObject({ isWrong: true });
    await expect(guess(id, '000000', lost, 'same')).rejects.toThrow('body key');
    const record = await recordOf(id);
    expect(record).toMatchObject({ attempts: 1 });
    expect(record.failuresMs).toHaveLength(1);
    expect(await guess(id, '000000', cipher, 'same')).toMatchObject({ isWrong: false, attemptsRemaining: 4 });
  });

  test('leaves what has ended meanwhile as it is, and is taken back once', async () => {
    const { id } = await start(otpNumber(3));
    const atMs = await counted(id, 'cannot be opened');
    for (let at = 0; at < 4; at += 1) await guess(id, '000000', cipher);
    expect(await guess(id, '493817', cipher)).toMatchObject({ valid: false, status: 'max_attempts_reached' });
    const withdraw = () =>
      otps.change(owner, placeOfOtp(id), (held) => withdrawGuess(held, id, atMs, rules, clock.nowMs()));
    for (let tries = 0; tries < 2; tries += 1) {
      expect(await withdraw()).toMatchObject({ ok: true });
      const record = await recordOf(id);
      expect(record).toMatchObject({ attempts: 5 });
      expect(record.failuresMs).toHaveLength(4);
    }
  });
});

test('a code opens only for the id, the account and the number for which it was sealed', async () => {
  const to = otpNumber(4);
  const otp = await start(to);
  // Of the same moment, so that the derived key is the same one.
  const other = await start(otpNumber(5));
  expect(openOtp(cipher, otp, accountId, to)).toEqual({ code: '493817', text: 'Your code is 493817' });
  expect(other.id.slice(0, 10)).toBe(otp.id.slice(0, 10));
  for (const [moved, account, number] of [
    [{ ...otp, id: other.id }, accountId, to],
    [otp, 'acc_01JABCDEFGHJKMNPQRSTVWXYZ1' as AccountId, to],
    [otp, accountId, otpNumber(5)],
    [{ ...other, sealed: otp.sealed }, accountId, otpNumber(5)],
  ] as const) {
    expect(() => openOtp(cipher, moved, account, number)).toThrow('unable to authenticate data');
  }
  expect(openOtp(cipher, { ...otp, sealed: null }, accountId, to)).toBeNull();
});
