// The bodies of the one-time password routes' answers, and refusals as problems. A code is in none of them but in
// `test_code` under a test key.
import type { OtpFailed } from '../../../acceptance/otp/refusal.ts';
import type { Verified } from '../../../acceptance/otp/verify.ts';
import type { MessageId, OtpId } from '../../../model/ids.ts';
import {
  type Otp,
  type OtpStatus,
  attemptsRemaining,
  otpAttemptsMax,
  otpStatuses,
  statusOf,
} from '../../../model/otp.ts';
import { unreachable } from '../../../platform/assert.ts';
import { type Problem, problem, problemOf, problemOfRefusal } from '../../problem.ts';

/** What the 201 of a start shows. */
export type StartedFacts = {
  readonly id: OtpId;
  readonly to: string;
  readonly expiresAtMs: number;
  readonly smsId: MessageId;
  readonly clientReference: string | null;
  /** Null under a live key. */
  readonly testCode: string | null;
};

export function startedBody({ id, to, expiresAtMs, smsId, clientReference, testCode }: StartedFacts): string {
  return JSON.stringify({
    id,
    object: 'otp',
    status: 'pending',
    to,
    expires_at: isoTime(expiresAtMs),
    attempts_remaining: otpAttemptsMax,
    sms_id: smsId,
    client_reference: clientReference,
    ...(testCode === null ? {} : { test_code: testCode }),
  });
}

/** One OTP as every later answer shows it. `sms_id`: its last message. */
export function otpShape(otp: Otp, to: string, nowMs: number): Record<string, unknown> {
  return {
    id: otp.id,
    object: 'otp',
    status: statusOf(otp, nowMs),
    to,
    expires_at: isoTime(otp.expiresAtMs),
    attempts_remaining: attemptsRemaining(otp),
    sms_id: otp.sends.at(-1)?.messageId ?? null,
    client_reference: otp.clientReference,
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
    case 'acceptance':
      return problemOf(failed.refusal);
    case 'gate':
      return problemOfRefusal(failed.refusal);
    default:
      return unreachable(failed);
  }
}

export const isoTime = (ms: number) => new Date(ms).toISOString();
