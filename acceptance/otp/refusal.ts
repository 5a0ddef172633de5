// Why a request about a one-time password is refused, without a protocol: by its rules, by acceptance of its message, or
// by a gate.
import type { Refusal } from '../../policy/contract.ts';
import type { OtpRefusal } from '../../policy/otp/number-limits.ts';
import { type AcceptanceRefusal, refusal } from '../refusal.ts';

/** `none`: this account has none of this id, in this mode. */
export type OtpFailed =
  | { readonly ok: false; readonly why: 'none' }
  | { readonly ok: false; readonly why: 'rules'; readonly refusal: OtpRefusal }
  | { readonly ok: false; readonly why: 'acceptance'; readonly refusal: AcceptanceRefusal }
  | { readonly ok: false; readonly why: 'gate'; readonly refusal: Refusal };

export const noOtp: OtpFailed = { ok: false, why: 'none' };

export const otpRefused = (refused: OtpRefusal): OtpFailed => ({ ok: false, why: 'rules', refusal: refused });

export const notAccepted = (refused: AcceptanceRefusal): OtpFailed => ({
  ok: false,
  why: 'acceptance',
  refusal: refused,
});

/** Whatever was asked for may have been stored. */
export const otpUnavailable: OtpFailed = notAccepted(
  refusal('overloaded', 'the store of one-time passwords did not answer', 1),
);
