// The bodies of the one-time password routes' answers, and refusals as problems. A code is in none of them but in
// `test_code` under a test key.
import type { OtpFailed } from '../../../acceptance/otp/refusal.ts';
import type { Verified } from '../../../acceptance/otp/verify.ts';
import type { MessageId, OtpId } from '../../../model/ids.ts';
import { type Otp, type OtpStatus, attemptsRemaining, otpStatuses, statusOf } from '../../../model/otp.ts';
import { unreachable } from '../../../platform/assert.ts';
import type { OtpRefusal } from '../../../policy/otp/number-limits.ts';
import { factsOfLimit } from '../../problem-facts.ts';
import { type Problem, problem, problemOf } from '../../problem.ts';
import { problemOfResend } from './otp-refusals.ts';
import { isoTime } from '../../../platform/iso-time.ts';

/** What answers show of an OTP. `smsId`: of its last message. */
type ShownOtp = Pick<Otp, 'id' | 'status' | 'expiresAtMs' | 'attempts' | 'clientReference'> & {
  readonly to: string;
  readonly smsId: MessageId | null;
};

const shapeOf = (otp: ShownOtp): Record<string, unknown> => ({
  id: otp.id,
  object: 'otp',
  status: otp.status,
  to: otp.to,
  expires_at: isoTime(otp.expiresAtMs),
  attempts_remaining: attemptsRemaining(otp),
  sms_id: otp.smsId,
  client_reference: otp.clientReference,
});

/** `testCode`: null under a live key. */
export function startedBody(otp: ShownOtp, testCode: string | null): string {
  return JSON.stringify({ ...shapeOf(otp), ...(testCode === null ? {} : { test_code: testCode }) });
}

/** One OTP as every later answer shows it. */
export function otpShape(otp: Otp, to: string, nowMs: number): Record<string, unknown> {
  return shapeOf({ ...otp, status: statusOf(otp, nowMs), to, smsId: otp.sends.at(-1)?.messageId ?? null });
}

/** What an idempotency key keeps of the answer to a start. */
type KeptStart = Pick<Otp, 'status' | 'expiresAtMs' | 'attempts'>;

const keptStartOctets = 6;
// 42 bits of the time (until 2109), then the status and the guesses, three bits each: nearly always `pending` and none.
const afterTime = 2 ** 42;
const statusesMax = 8;

/** `sealedCode`: under a test key. */
export function keptOfStart({ status, expiresAtMs, attempts }: KeptStart, sealedCode: Buffer | null): Buffer {
  const kept = Buffer.alloc(keptStartOctets);
  const changed = otpStatuses.indexOf(status) + attempts * statusesMax;
  kept.writeUIntBE(Math.floor(expiresAtMs) + changed * afterTime, 0, keptStartOctets);
  return sealedCode === null ? kept : Buffer.concat([kept, sealedCode]);
}

export function startOfKept(kept: Buffer): KeptStart & { readonly sealedCode: Buffer | null } {
  const number = kept.readUIntBE(0, keptStartOctets);
  const changed = Math.floor(number / afterTime);
  return {
    expiresAtMs: number % afterTime,
    status: otpStatuses[changed % statusesMax] as OtpStatus,
    attempts: Math.floor(changed / statusesMax),
    sealedCode: kept.length === keptStartOctets ? null : kept.subarray(keptStartOctets),
  };
}

type Verdict = Pick<Verified, 'status' | 'valid' | 'attemptsRemaining'>;

export function verifiedBody(id: OtpId, { status, valid, attemptsRemaining: left }: Verdict): string {
  return JSON.stringify({ id, status, valid, attempts_remaining: left });
}

/** What is stored of a verdict under an idempotency key: three octets. */
export function keptOfVerdict({ status, valid, attemptsRemaining: left }: Verdict): Buffer {
  return Buffer.of(valid ? 1 : 0, otpStatuses.indexOf(status), left);
}

export function verdictOf(kept: Buffer): Verdict {
  return {
    valid: kept[0] === 1,
    status: otpStatuses[kept.readUInt8(1)] as OtpStatus,
    attemptsRemaining: kept.readUInt8(2),
  };
}

/** The same for another account's OTP, for one of the other mode and for one of long ago: ids reveal nothing. */
export const otpNotFound = problem(404, 'not_found', 'no one-time password of this account and mode has this id');

export function problemOfOtp(failed: OtpFailed): Problem {
  switch (failed.why) {
    case 'none':
      return otpNotFound;
    case 'rules':
      return problemOfLimits(failed.refusal);
    case 'acceptance':
      return problemOf(failed.refusal);
    case 'gate':
      return problemOfResend(failed.refusal);
    default:
      return unreachable(failed);
  }
}

/** A refusal by rules, with the limit that is reached where it is one. */
export function problemOfLimits(refusal: OtpRefusal): Problem {
  const { reached, retryAfterS } = refusal;
  if (reached === undefined || retryAfterS === null) return problemOf(refusal);
  return { ...problemOf(refusal), facts: factsOfLimit(reached, retryAfterS) };
}
