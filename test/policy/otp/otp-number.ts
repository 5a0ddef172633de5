// The record of a number for tests of the rules, at one time.
import { expect } from 'vitest';
import type { MessageId, OtpId } from '../../../model/ids.ts';
import type { Otp, OtpNumber } from '../../../model/otp.ts';
import { otpLimitsDefault as rules } from '../../../policy/otp/contract.ts';
import { startOtp } from '../../../policy/otp/rules.ts';
import { pendingOtp } from '../../support/pending-otp.ts';

export const to = '+8801712345678';
export const fresh: OtpNumber = { to: null, otps: [], sendsMs: [], failuresMs: [], forgottenToMs: 0 };
export const beginMs = 1_750_000_000_000;
/** One that waits, for five minutes. */
export const otpOf = (name: string, nowMs: number, of: Partial<Otp> = {}): Otp =>
  pendingOtp({
    id: `otp_${name}` as OtpId,
    createdAtMs: nowMs,
    sends: [{ messageId: `sms_${name}` as MessageId, atMs: nowMs }],
    ...of,
  });

/** The record after its start. */
export const started = (otp: Otp, held = fresh, nowMs = beginMs): OtpNumber => {
  const { next, answer } = startOtp(held, otp, to, rules, nowMs);
  expect(answer.kind).toBe('started');
  return next as OtpNumber;
};
