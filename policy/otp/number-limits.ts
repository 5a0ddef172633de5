// The limits that the record of a number holds: its sends and wrong guesses, counted exactly over a sliding period, and the
// codes that wait. Each function answers with its refusal, or with null where there is room.
import { type Otp, type OtpNumber, statusOf } from '../../model/otp.ts';
import { limits } from '../../platform/limits.ts';
import type { OtpCounted, OtpDimension, OtpLimit, OtpLimits } from './contract.ts';

export type OtpRefusalCode =
  | 'otp_locked'
  | 'otp_rate_limited'
  | 'otp_pending_limit'
  | 'otp_expiring'
  | 'otp_not_pending';

export type OtpRefusal = {
  readonly code: OtpRefusalCode;
  readonly detail: string;
  /** Null: the same request will never pass. */
  readonly retryAfterS: number | null;
  /** The limit that is reached. */
  readonly reached?: ReachedLimit;
};

/** starts: of the account's share of records. */
export type ReachedLimit = {
  readonly counted: OtpCounted | 'starts';
  readonly dimension: OtpDimension;
  readonly limit: OtpLimit;
};

const { pendingMax } = limits.otp;

/** 20 wrong guesses of a day: the number gets no code, and none is compared. */
export function lockOf({ failuresMs }: OtpNumber, { guesses }: OtpLimits, nowMs: number): OtpRefusal | null {
  const retryAfterS = fullUntil(failuresMs, guesses.number, nowMs);
  if (retryAfterS === null) return null;
  const detail = `${guesses.number.count} guesses about this number have failed: a new code does not reset them`;
  const reached = { counted: 'guesses', dimension: 'number', limit: guesses.number } as const;
  return { code: 'otp_locked', detail, retryAfterS, reached };
}

/** Whether a wrong guess, or one that is being compared, counts. */
export function hasFailed({ failuresMs }: OtpNumber, { guesses }: OtpLimits, nowMs: number): boolean {
  return failuresMs.some((atMs) => atMs > nowMs - guesses.number.perMs);
}

export function tooManySends({ sendsMs }: OtpNumber, { sends }: OtpLimits, nowMs: number): OtpRefusal | null {
  const retryAfterS = fullUntil(sendsMs, sends.number, nowMs);
  if (retryAfterS === null) return null;
  const detail = `${sends.number.count} codes were sent to this number in ${sends.number.perMs / 1_000} s`;
  const reached = { counted: 'sends', dimension: 'number', limit: sends.number } as const;
  return { code: 'otp_rate_limited', detail, retryAfterS, reached };
}

export function tooManyPending({ otps }: OtpNumber, { purpose }: Otp, nowMs: number): OtpRefusal | null {
  const pending = otps.filter((each) => each.purpose === purpose && statusOf(each, nowMs) === 'pending');
  if (pending.length < pendingMax) return null;
  const firstEndMs = Math.min(...pending.map(({ expiresAtMs }) => expiresAtMs));
  const detail = `${pendingMax} codes of this purpose wait for this number: cancel one, or send one of them again`;
  return { code: 'otp_pending_limit', detail, retryAfterS: Math.max(1, Math.ceil((firstEndMs - nowMs) / 1_000)) };
}

/** Seconds until one more fits into the period, counted exactly; null: it fits now. */
function fullUntil(timesMs: readonly number[], { count, perMs }: OtpLimit, nowMs: number): number | null {
  const recent = timesMs.filter((atMs) => atMs > nowMs - perMs).toSorted((one, other) => one - other);
  const first = recent[recent.length - count];
  return first === undefined ? null : Math.max(1, Math.ceil((first + perMs - nowMs) / 1_000));
}
