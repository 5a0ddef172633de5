// What may happen to the one-time passwords of one number, as pure decisions over its record. Each returns the record to
// be written by compare-and-set (null: nothing changes) and what to answer once that is stored. A guess is counted in
// one decision and compared after it is stored, so that however many arrive at once, no more are compared than the
// limits allow.
import { hash } from 'node:crypto';
import { type OtpId } from '../../model/ids.ts';
import { type Otp, type OtpNumber, type OtpSend, type OtpStatus, otpAttemptsMax, statusOf } from '../../model/otp.ts';
import { limits } from '../../platform/limits.ts';
import type { OtpLimits } from './contract.ts';
import { type OtpRefusal, hasFailed, lockOf, tooManyPending, tooManySends } from './number-limits.ts';

/** `next`: the record to store before the answer is given; null: it stays as it is. */
export type Decided<Answer> = { readonly next: OtpNumber | null; readonly answer: Answer };

const { keptMs, resendLeastMs, notSentKept } = limits.otp;
const { graceMs } = limits.facts;

export type StartAnswer =
  | { readonly kind: 'started'; readonly otp: Otp }
  /** The first try of this request has started it. */
  | { readonly kind: 'known'; readonly otp: Otp }
  | { readonly kind: 'refused'; readonly refusal: OtpRefusal };

export function startOtp(held: OtpNumber, otp: Otp, to: string, rules: OtpLimits, nowMs: number): Decided<StartAnswer> {
  const known = held.otps.find(({ id }) => id === otp.id);
  if (known !== undefined && known.reason !== 'not_sent') return { next: null, answer: { kind: 'known', otp: known } };
  const others = held.otps.filter((each) => each !== known);
  const refusal = lockOf(held, rules, nowMs) ?? tooManySends(held, rules, nowMs) ?? tooManyPending(held, otp, nowMs);
  if (refusal !== null) return { next: null, answer: { kind: 'refused', refusal } };
  // The times of its sends, so that exactly these are taken back when a message is not published.
  const next = {
    ...held,
    to,
    otps: [...others, otp],
    sendsMs: [...held.sendsMs, ...otp.sends.map(({ atMs }) => atMs)],
  };
  return { next: tidied(next, rules, nowMs), answer: { kind: 'started', otp } };
}

export type GuessAnswer =
  | { readonly kind: 'none' }
  | { readonly kind: 'refused'; readonly refusal: OtpRefusal }
  /** It has ended: nothing is compared, nothing is counted. */
  | { readonly kind: 'ended'; readonly otp: Otp; readonly status: OtpStatus }
  /** The right guess was made under this idempotency key: its answer was lost. */
  | { readonly kind: 'answered_before'; readonly otp: Otp }
  /** Counted, as this attempt from 1: it may be compared. `isRepeat`: by an earlier try of the request, perhaps compared, too. */
  | {
      readonly kind: 'counted';
      readonly otp: Otp;
      readonly attempt: number;
      readonly countedAtMs: number;
      readonly isRepeat: boolean;
    };

/**
 * What names a request and its code: only a repeat has the same, and without a key none. The first is written; a name is
 * made with the body key and has others, because its first try may have used another one of the keys.
 */
export type RequestNames = readonly [own: string, ...others: string[]];

/**
 * `beyond`: the refusal of a limit over guesses at other numbers. The first guess at a number passes it, so that strangers keep
 * nobody out who types the code correctly; of several at once one does.
 */
export function countGuess(
  held: OtpNumber,
  id: OtpId,
  by: RequestNames,
  rules: OtpLimits,
  nowMs: number,
  beyond: OtpRefusal | null = null,
): Decided<GuessAnswer> {
  const otp = held.otps.find((each) => each.id === id);
  const unchanged = (answer: GuessAnswer): Decided<GuessAnswer> => ({ next: null, answer });
  if (otp === undefined) return unchanged({ kind: 'none' });
  if (isVerifiedBy(otp, by)) return unchanged({ kind: 'answered_before', otp });
  const repeated = isWaiting(otp, nowMs) ? guessBy(otp, by) : null;
  if (repeated !== null) return unchanged({ kind: 'counted', otp, ...repeated, isRepeat: true });
  const status = statusOf(otp, nowMs);
  if (status !== 'pending') return unchanged({ kind: 'ended', otp, status });
  const locked = lockOf(held, rules, nowMs);
  if (locked !== null) return unchanged({ kind: 'refused', refusal: locked });
  if (beyond !== null && hasFailed(held, rules, nowMs)) return unchanged({ kind: 'refused', refusal: beyond });
  // Each has a time of its own, so that exactly this one is taken back when the guess was right.
  const countedAtMs = Math.max(nowMs, ...[held.forgottenToMs, ...held.failuresMs].map((atMs) => atMs + 1));
  const attempt = otp.attempts + 1;
  const counted: Otp = { ...otp, attempts: attempt, guesses: [...otp.guesses, [printOf(by[0]), countedAtMs]] };
  const next = { ...withOtp(held, counted), failuresMs: [...held.failuresMs, countedAtMs] };
  return {
    next: tidied(next, rules, nowMs),
    answer: { kind: 'counted', otp: counted, attempt, countedAtMs, isRepeat: false },
  };
}

export type VerifyAnswer = { readonly otp: Otp; readonly valid: boolean };

/**
 * A right guess that was counted. The first one wins, also over wrong ones that were counted later and have ended its OTP;
 * the failure that was counted for it is taken back.
 */
export function verifyOtp(
  held: OtpNumber,
  id: OtpId,
  by: RequestNames,
  countedAtMs: number,
  rules: OtpLimits,
  nowMs: number,
): Decided<VerifyAnswer | null> {
  const otp = held.otps.find((each) => each.id === id);
  if (otp === undefined) return { next: null, answer: null };
  // Counted before its time was over: what the two writes take is not held against the client.
  // An earlier try of this call, or of its idempotency key, may have been stored although its answer was lost.
  if (otp.status !== 'pending' && !isEndedByGuesses(otp))
    return { next: null, answer: { otp, valid: isVerifiedBy(otp, by) } };
  const verified: Otp = { ...ended(otp, 'verified', nowMs), reason: null, verifiedBy: by[0] };
  const otps = held.otps.map((each) => {
    if (each.id === id) return verified;
    const isAlike = each.purpose === otp.purpose && isWaiting(each, nowMs);
    return isAlike ? ended(each, 'canceled', nowMs) : each;
  });
  const at = held.failuresMs.indexOf(countedAtMs);
  const failuresMs = held.failuresMs.filter((_, index) => index !== at);
  return {
    next: tidied({ ...held, otps, failuresMs }, rules, nowMs),
    answer: { otp: verified, valid: true },
  };
}

/**
 * A wrong guess that was counted as this attempt: the last one ends its OTP, the last failure of a day all of the number.
 * An earlier attempt does not end it while the last one is compared, which may be right. `ended`: those that it ended.
 */
export function failGuess(
  held: OtpNumber,
  id: OtpId,
  attempt: number,
  rules: OtpLimits,
  nowMs: number,
): Decided<{ readonly otp: Otp | null; readonly ended: readonly Otp[] }> {
  const isLocked = lockOf(held, rules, nowMs) !== null;
  const otps = held.otps.map((each): Otp => {
    // Counted before its time was over, as in verifyOtp.
    const isLast = each.id === id && each.status === 'pending' && attempt >= otpAttemptsMax;
    if (isLast) return ended(each, 'max_attempts_reached', nowMs);
    return isLocked && isWaiting(each, nowMs) ? { ...ended(each, 'failed', nowMs), reason: 'locked' } : each;
  });
  const changed = otps.filter((each, at) => each !== held.otps[at]);
  const otp = otps.find((each) => each.id === id) ?? null;
  if (changed.length === 0) return { next: null, answer: { otp, ended: [] } };
  return { next: tidied({ ...held, otps }, rules, nowMs), answer: { otp, ended: changed } };
}

/**
 * A guess that was counted and could not be compared: as if it had not been made. Its attempt is for another guess, so no
 * more are compared than before. What has ended meanwhile stays as it is.
 */
export function withdrawGuess(
  held: OtpNumber,
  id: OtpId,
  countedAtMs: number,
  rules: OtpLimits,
  nowMs: number,
): Decided<null> {
  const at = held.failuresMs.indexOf(countedAtMs);
  // An earlier try of this write was stored although its answer was lost.
  if (at === -1) return { next: null, answer: null };
  const otps = held.otps.map((each) =>
    each.id === id && each.status === 'pending'
      ? { ...each, attempts: each.attempts - 1, guesses: each.guesses.filter(([, atMs]) => atMs !== countedAtMs) }
      : each,
  );
  const failuresMs = held.failuresMs.filter((_, index) => index !== at);
  return { next: tidied({ ...held, otps, failuresMs }, rules, nowMs), answer: null };
}

export type ChangeAnswer =
  | { readonly kind: 'none' }
  | { readonly kind: 'refused'; readonly refusal: OtpRefusal }
  | { readonly kind: 'changed'; readonly otp: Otp }
  /** It was so before. */
  | { readonly kind: 'unchanged'; readonly otp: Otp };

/** The same code, until the same time, in one more message. */
export function resendOtp(
  held: OtpNumber,
  id: OtpId,
  send: OtpSend,
  rules: OtpLimits,
  nowMs: number,
): Decided<ChangeAnswer> {
  const otp = held.otps.find((each) => each.id === id);
  if (otp === undefined) return { next: null, answer: { kind: 'none' } };
  // The first try of this request has counted it.
  if (otp.sends.some(({ messageId }) => messageId === send.messageId))
    return { next: null, answer: { kind: 'unchanged', otp } };
  const refusal =
    notPending(otp, nowMs) ?? expiring(otp, nowMs) ?? lockOf(held, rules, nowMs) ?? tooManySends(held, rules, nowMs);
  if (refusal !== null) return { next: null, answer: { kind: 'refused', refusal } };
  const resent = { ...otp, sends: [...otp.sends, send] };
  const next = { ...withOtp(held, resent), sendsMs: [...held.sendsMs, send.atMs] };
  return { next: tidied(next, rules, nowMs), answer: { kind: 'changed', otp: resent } };
}

/**
 * A send that was certainly not published: as if it had not been asked for. An OTP without any send has ended; it stays for
 * clients that got the answer to its start.
 */
export function withdrawSend(held: OtpNumber, id: OtpId, send: OtpSend, nowMs: number): Decided<null> {
  const otp = held.otps.find((each) => each.id === id);
  if (otp === undefined) return { next: null, answer: null };
  const sends = otp.sends.filter(({ messageId }) => messageId !== send.messageId);
  const without: Otp =
    sends.length > 0 ? { ...otp, sends } : { ...ended(otp, 'failed', nowMs), reason: 'not_sent', sends };
  const otps = held.otps.map((each) => (each.id === id ? without : each));
  const notSent = otps.filter(({ reason }) => reason === 'not_sent');
  const at = held.sendsMs.indexOf(send.atMs);
  const kept = otps.filter((each) => !notSent.slice(0, -notSentKept).includes(each));
  return { next: { ...held, otps: kept, sendsMs: held.sendsMs.filter((_, index) => index !== at) }, answer: null };
}

/** Canceling what is canceled changes nothing. */
export function cancelOtp(held: OtpNumber, id: OtpId, rules: OtpLimits, nowMs: number): Decided<ChangeAnswer> {
  const otp = held.otps.find((each) => each.id === id);
  if (otp === undefined) return { next: null, answer: { kind: 'none' } };
  if (otp.status === 'canceled') return { next: null, answer: { kind: 'unchanged', otp } };
  const refusal = notPending(otp, nowMs);
  if (refusal !== null) return { next: null, answer: { kind: 'refused', refusal } };
  const canceled = ended(otp, 'canceled', nowMs);
  return { next: tidied(withOtp(held, canceled), rules, nowMs), answer: { kind: 'changed', otp: canceled } };
}

/**
 * A person unlocks the number: failures up to then count no more. Codes that wait get no attempts back, and sends stay counted.
 * Without a record there is nothing to change.
 */
export function forgetFailures(held: OtpNumber, toMs: number): Decided<null> {
  if (held.to === null || held.forgottenToMs >= toMs) return { next: null, answer: null };
  const failuresMs = held.failuresMs.filter((atMs) => atMs > toMs);
  return { next: { ...held, failuresMs, forgottenToMs: toMs }, answer: null };
}

/** What has expired has ended, although only its time says so: nothing may give it another end. */
function isWaiting({ status, expiresAtMs }: Otp, nowMs: number): boolean {
  return status === 'pending' && nowMs < expiresAtMs;
}

function isVerifiedBy({ verifiedBy }: Otp, by: RequestNames): boolean {
  return verifiedBy !== null && by.includes(verifiedBy);
}

const printOctets = 6;
/** A name as it is kept of a guess: by chance one of 2^48 others has the same. */
const printOf = (name: string) => hash('sha256', name, 'buffer').subarray(0, printOctets).toString('base64url');

/** The guess that an earlier try of this request has counted. Those without a name, of versions before, are the first ones. */
function guessBy({ attempts, guesses }: Otp, by: RequestNames): { attempt: number; countedAtMs: number } | null {
  const prints = by.map(printOf);
  const at = guesses.findIndex(([print]) => prints.includes(print));
  const guess = guesses[at];
  return guess === undefined ? null : { attempt: attempts - guesses.length + at + 1, countedAtMs: guess[1] };
}

function isEndedByGuesses({ status, reason }: Otp): boolean {
  return status === 'max_attempts_reached' || reason === 'locked';
}

/** What ends gives up its code and the names of its guesses: nobody needs them any more. */
function ended(otp: Otp, status: OtpStatus, nowMs: number): Otp {
  return { ...otp, status, sealed: null, guesses: [], endedAtMs: nowMs };
}

function withOtp(held: OtpNumber, otp: Otp): OtpNumber {
  return { ...held, otps: held.otps.map((each) => (each.id === otp.id ? otp : each)) };
}

/** Without what no decision and no reader needs any more: each write removes it. */
function tidied(held: OtpNumber, { sends, guesses }: OtpLimits, nowMs: number): OtpNumber {
  const kept = held.otps.filter((otp) => Math.max(otp.expiresAtMs, otp.endedAtMs ?? 0) > nowMs - keptMs);
  return {
    to: held.to,
    // Not before a node whose clock is behind has it expired too.
    otps: kept.map((otp) => (nowMs >= otp.expiresAtMs + graceMs ? { ...otp, sealed: null, guesses: [] } : otp)),
    sendsMs: held.sendsMs.filter((atMs) => atMs > nowMs - sends.number.perMs),
    failuresMs: held.failuresMs.filter((atMs) => atMs > nowMs - guesses.number.perMs),
    forgottenToMs: held.forgottenToMs,
  };
}

function notPending(otp: Otp, nowMs: number): OtpRefusal | null {
  const status = statusOf(otp, nowMs);
  if (status === 'pending') return null;
  return { code: 'otp_not_pending', detail: `it is ${status}: start a new one`, retryAfterS: null };
}

function expiring({ expiresAtMs }: Otp, nowMs: number): OtpRefusal | null {
  if (expiresAtMs - nowMs >= resendLeastMs) return null;
  const detail = `it expires in less than ${resendLeastMs / 1_000} s, and a message may take as long: start a new one`;
  return { code: 'otp_expiring', detail, retryAfterS: null };
}
