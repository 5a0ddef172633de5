// Verifies a code. The guess is stored as counted, then compared, then its result is stored: three writes at most, of
// which the first two decide. A process that ends in between has used up a guess and given no answer; one that cannot open
// the code gives the guess back. PostgreSQL and the event store are never asked.
import { type MessageId, type OtpId, type OtpPlace, placeOfOtp } from '../../model/ids.ts';
import { type Otp, type OtpStatus, attemptsRemaining, statusOf } from '../../model/otp.ts';
import { limits } from '../../platform/limits.ts';
import { isSameCode } from '../../policy/otp/code.ts';
import type { OtpRefusal } from '../../policy/otp/number-limits.ts';
import { type RequestNames, countGuess, failGuess, verifyOtp, withdrawGuess } from '../../policy/otp/rules.ts';
import type { Principal } from '../principal.ts';
import { type OtpFailed, noOtp, otpRefused, otpUnavailable } from './refusal.ts';
import { type OtpParts, type OtpSecret, openOtp, ownerOf } from './send.ts';
import type { OtpOwner } from './store.ts';

export type VerifyParts = Pick<OtpParts, 'otps' | 'clock' | 'otpLimits' | 'cipher'>;

export type Verified = {
  readonly ok: true;
  readonly valid: boolean;
  readonly status: OtpStatus;
  readonly attemptsRemaining: number;
  /** A code was compared and was another one; false of a repeat, whose first try counts. */
  readonly isWrong: boolean;
  /** The client brought the code. */
  readonly ownCode: boolean;
  /** The only message with the code; null when it was sent again. */
  readonly messageId: MessageId | null;
};

/** `code`: normalised digits. `beyond`: as in countGuess. */
export async function verifyCode(
  parts: VerifyParts,
  principal: Principal,
  id: OtpId,
  {
    code,
    by,
    beyond = null,
  }: { readonly code: string; readonly by: RequestNames; readonly beyond?: OtpRefusal | null },
): Promise<Verified | OtpFailed> {
  const { otps, clock, otpLimits } = parts;
  const owner = ownerOf(principal);
  const place = placeOfOtp(id);
  let to = '';
  const counted = await otps.change(owner, place, (held) => {
    to = held.to ?? '';
    return countGuess(held, id, by, otpLimits(), clock.nowMs(), beyond);
  });
  if (!counted.ok) return otpUnavailable;
  const { answer } = counted;
  switch (answer.kind) {
    case 'none':
      return noOtp;
    case 'refused':
      return otpRefused(answer.refusal);
    case 'ended':
      return verdict(answer.otp, false, answer.status);
    case 'answered_before':
      return verdict(answer.otp, true, 'verified');
    case 'counted': {
      const { attempt, countedAtMs, isRepeat } = answer;
      const guess = { owner, place, id, by, attempt, countedAtMs, isRepeat, isKept: beyond === null };
      const secret = await openOrGiveBack(parts, guess, () => openOtp(parts.cipher, answer.otp, owner.accountId, to));
      return secret !== null && isSameCode(secret.code, code) ? right(parts, guess) : wrong(parts, guess);
    }
  }
}

type Guess = {
  readonly owner: OtpOwner;
  readonly place: OtpPlace;
  readonly id: OtpId;
  readonly by: RequestNames;
  /** The number of the guess at its OTP, from 1. */
  readonly attempt: number;
  readonly countedAtMs: number;
  readonly isRepeat: boolean;
  /** Whether it counts for a day if it is wrong. */
  readonly isKept: boolean;
};

/** A code that cannot be opened is no fault of who guesses: the guess counts no more when this throws. */
async function openOrGiveBack(
  { otps, clock, otpLimits }: VerifyParts,
  { owner, place, id, countedAtMs, isRepeat }: Guess,
  open: () => OtpSecret | null,
): Promise<OtpSecret | null> {
  try {
    return open();
  } catch (error) {
    // The first try of a repeat may have compared it, where the key is there.
    if (!isRepeat)
      await otps.change(owner, place, (held) => withdrawGuess(held, id, countedAtMs, otpLimits(), clock.nowMs()));
    throw error;
  }
}

async function right(
  { otps, clock, otpLimits }: VerifyParts,
  { owner, place, id, by, countedAtMs }: Guess,
): Promise<Verified | OtpFailed> {
  const changed = await otps.change(owner, place, (held) =>
    verifyOtp(held, id, by, countedAtMs, otpLimits(), clock.nowMs()),
  );
  if (!changed.ok) return otpUnavailable;
  const { answer } = changed;
  return answer === null ? noOtp : verdict(answer.otp, answer.valid, answer.otp.status);
}

async function wrong(
  { otps, clock, otpLimits }: VerifyParts,
  { owner, place, id, attempt, countedAtMs, isRepeat, isKept }: Guess,
): Promise<Verified | OtpFailed> {
  let failuresMs: readonly number[] = [];
  const changed = await otps.change(owner, place, (held) => {
    // Another guess that was counted within the last seconds may be right: it is compared at this moment.
    const comparedToMs = clock.nowMs() - limits.facts.graceMs;
    failuresMs = held.failuresMs.filter((atMs) => atMs === countedAtMs || atMs < comparedToMs);
    return failGuess(held, id, attempt, otpLimits(), clock.nowMs());
  });
  if (!changed.ok) return otpUnavailable;
  // Beyond the account's limit so many numbers would fill the bucket that other accounts' guesses are in.
  if (isKept) await otps.keepFailures(owner, place, failuresMs);
  const { otp } = changed.answer;
  if (otp === null) return noOtp;
  return { ...verdict(otp, false, statusOf(otp, clock.nowMs())), isWrong: !isRepeat };
}

function verdict(otp: Otp, valid: boolean, status: OtpStatus): Verified {
  const [first, second] = otp.sends;
  const messageId = second === undefined ? (first?.messageId ?? null) : null;
  const about = { attemptsRemaining: attemptsRemaining(otp), ownCode: otp.ownCode, messageId };
  return { ok: true, valid, status, isWrong: false, ...about };
}
