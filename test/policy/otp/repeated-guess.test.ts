// Guesses that are repeated because their answer was lost, and first guesses beyond a limit over other numbers.
import { describe, expect, test } from 'vitest';
import type { Otp, OtpNumber } from '../../../model/otp.ts';
import { encodeOtpNumber } from '../../../model/records/otp-record.ts';
import { otpLimitsDefault as rules } from '../../../policy/otp/contract.ts';
import { cancelOtp, countGuess, verifyOtp, withdrawGuess } from '../../../policy/otp/rules.ts';
import { beginMs, otpOf, started } from './otp-number.ts';

describe('a guess whose answer was lost', () => {
  const otp = otpOf('A', beginMs);
  const count = (held: OtpNumber, by: readonly [string, ...string[]], nowMs: number) =>
    countGuess(held, otp.id, by, rules, nowMs);
  const one = count(started(otp), ['key code'], beginMs + 1).next as OtpNumber;

  test('is compared again as the attempt that it was, and changes nothing; any other name counts', () => {
    const two = count(one, ['other'], beginMs + 2).next as OtpNumber;
    expect(count(two, ['key code'], beginMs + 3)).toMatchObject({
      next: null,
      answer: { kind: 'counted', attempt: 1, countedAtMs: beginMs + 1, isRepeat: true },
    });
    // Made with the body key that was in use then.
    expect(count(two, ['new', 'key code'], beginMs + 3)).toMatchObject({ next: null, answer: { isRepeat: true } });
    for (const name of ['key', 'key code2', 'KEY code']) {
      expect(count(two, [name], beginMs + 3)).toMatchObject({
        next: { otps: [{ attempts: 3 }] },
        answer: { attempt: 3, isRepeat: false },
      });
    }
  });

  test('is right when it was the fifth and its process ended before it was compared', () => {
    let held: OtpNumber = { ...one, otps: [{ ...one.otps[0], attempts: 4 } as Otp] };
    held = count(held, ['fifth'], beginMs + 9).next as OtpNumber;
    expect(count(held, ['sixth'], beginMs + 10).answer).toMatchObject({ kind: 'ended' });
    const { answer } = count(held, ['fifth'], beginMs + 10);
    expect(answer).toMatchObject({ kind: 'counted', attempt: 5, countedAtMs: beginMs + 9 });
    const right = verifyOtp(held, otp.id, ['fifth'], beginMs + 9, rules, beginMs + 11);
    expect(right.answer).toMatchObject({ valid: true });
    expect(right.next).toMatchObject({ failuresMs: [beginMs + 1], otps: [{ guesses: [] }] });
  });

  test('is not compared once its code has ended, and counts again when it was given back', () => {
    expect(count(one, ['key code'], otp.expiresAtMs).answer).toMatchObject({ kind: 'ended', status: 'expired' });
    const canceled = cancelOtp(one, otp.id, rules, beginMs + 2).next as OtpNumber;
    expect(count(canceled, ['key code'], beginMs + 3).answer).toMatchObject({ kind: 'ended', status: 'canceled' });
    const without = withdrawGuess(one, otp.id, beginMs + 1, rules, beginMs + 2).next as OtpNumber;
    expect(without.otps).toMatchObject([{ attempts: 0, guesses: [] }]);
    expect(count(without, ['key code'], beginMs + 3).answer).toMatchObject({ attempt: 1, isRepeat: false });
  });

  test('is its own attempt also beside guesses that a version before has counted without names', () => {
    const held = { ...started(otp), otps: [{ ...otp, attempts: 2 }] };
    const third = count(held, ['third'], beginMs + 3).next as OtpNumber;
    const fourth = count(third, ['fourth'], beginMs + 4).next as OtpNumber;
    expect(count(fourth, ['third'], beginMs + 5).answer).toMatchObject({ attempt: 3, isRepeat: true });
  });

  test('takes 28 octets of the record for each, and none once the code has ended', () => {
    const octetsOf = (held: OtpNumber) => encodeOtpNumber(held, '').length;
    const unnamed = { ...one, otps: one.otps.map((each) => ({ ...each, guesses: [] })) };
    expect(octetsOf(one) - octetsOf(unnamed)).toBeLessThanOrEqual(28);
    const ended = cancelOtp(one, otp.id, rules, beginMs + 2).next as OtpNumber;
    expect(ended.otps).toMatchObject([{ guesses: [] }]);
  });
});

test('a guess beyond a limit over other numbers passes where no wrong guess of a day counts', () => {
  const beyond = { code: 'otp_rate_limited', detail: 'too many', retryAfterS: 7 } as const;
  const otp = otpOf('A', beginMs);
  const at = (failuresMs: readonly number[]) =>
    countGuess({ ...started(otp), failuresMs }, otp.id, ['r'], rules, beginMs + 1, beyond).answer;
  expect(at([])).toMatchObject({ kind: 'counted' });
  expect(at([beginMs + 1 - 86_400_000])).toMatchObject({ kind: 'counted' });
  expect(at([beginMs + 2 - 86_400_000])).toEqual({ kind: 'refused', refusal: beyond });
});
