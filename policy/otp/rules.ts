// What may happen to the one-time passwords of one number, as pure decisions over its record. Each returns the record to
// be written by compare-and-set (null: nothing changes) and what to answer once that is stored. A guess is counted in
// one decision and compared after it is stored, so that however many arrive at once, no more are compared than the
// limits allow.
import { type OtpId } from '../../model/ids.ts';
import { type Otp, type OtpNumber, type OtpSend, type OtpStatus, otpAttemptsMax, statusOf } from '../../model/otp.ts';
import { limits } from '../../platform/limits.ts';
import type { OtpCounted, OtpLimit, OtpLimits } from './contract.ts';

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
  /** The limit of the number that is reached. */
  readonly reached?: { readonly counted: OtpCounted; readonly limit: OtpLimit };
};

/** `next`: the record to store before the answer is given; null: it stays as it is. */
export type Decided<Answer> = { readonly next: OtpNumber | null; readonly answer: Answer };

const { pendingMax, keptMs, resendLeastMs, notSentKept } = limits.otp;
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
  /** Counted: it may be compared. */
  | { readonly kind: 'counted'; readonly otp: Otp; readonly countedAtMs: number };

/**
 * What names a request: the place of its idempotency key, or a text that no other request has. The first is written; a name
 * that is made with the body key has others, because its first try may have used another one of the keys.
 */
export type RequestNames = readonly [own: string, ...others: string[]];

export function countGuess(
  held: OtpNumber,
  id: OtpId,
  by: RequestNames,
  rules: OtpLimits,
  nowMs: number,
): Decided<GuessAnswer> {
  const otp = held.otps.find((each) => each.id === id);
  const unchanged = (answer: GuessAnswer): Decided<GuessAnswer> => ({ next: null, answer });
  if (otp === undefined) return unchanged({ kind: 'none' });
  if (isVerifiedBy(otp, by)) return unchanged({ kind: 'answered_before', otp });
  const status = statusOf(otp, nowMs);
  if (status !== 'pending') return unchanged({ kind: 'ended', otp, status });
  const locked = lockOf(held, rules, nowMs);
  if (locked !== null) return unchanged({ kind: 'refused', refusal: locked });
  const counted = { ...otp, attempts: otp.attempts + 1 };
  // Each has a time of its own, so that exactly this one is taken back when the guess was right.
  const countedAtMs = Math.max(nowMs, ...held.failuresMs.map((atMs) => atMs + 1));
  const next = { ...withOtp(held, counted), failuresMs: [...held.failuresMs, countedAtMs] };
  return { next: tidied(next, rules, nowMs), answer: { kind: 'counted', otp: counted, countedAtMs } };
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
    each.id === id && each.status === 'pending' ? { ...each, attempts: each.attempts - 1 } : each,
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

/** What has expired has ended, although only its time says so: nothing may give it another end. */
function isWaiting({ status, expiresAtMs }: Otp, nowMs: number): boolean {
  return status === 'pending' && nowMs < expiresAtMs;
}

function isVerifiedBy({ verifiedBy }: Otp, by: RequestNames): boolean {
  return verifiedBy !== null && by.includes(verifiedBy);
}

function isEndedByGuesses({ status, reason }: Otp): boolean {
  return status === 'max_attempts_reached' || reason === 'locked';
}

/** What ends gives up its code: nobody needs it any more. */
function ended(otp: Otp, status: OtpStatus, nowMs: number): Otp {
  return { ...otp, status, sealed: null, endedAtMs: nowMs };
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
    otps: kept.map((otp) => (nowMs >= otp.expiresAtMs + graceMs ? { ...otp, sealed: null } : otp)),
    sendsMs: held.sendsMs.filter((atMs) => atMs > nowMs - sends.number.perMs),
    failuresMs: held.failuresMs.filter((atMs) => atMs > nowMs - guesses.number.perMs),
  };
}

function lockOf({ failuresMs }: OtpNumber, { guesses }: OtpLimits, nowMs: number): OtpRefusal | null {
  const retryAfterS = fullUntil(failuresMs, guesses.number, nowMs);
  if (retryAfterS === null) return null;
  const detail = `${guesses.number.count} guesses about this number have failed: a new code does not reset them`;
  return { code: 'otp_locked', detail, retryAfterS, reached: { counted: 'guesses', limit: guesses.number } };
}

function tooManySends({ sendsMs }: OtpNumber, { sends }: OtpLimits, nowMs: number): OtpRefusal | null {
  const retryAfterS = fullUntil(sendsMs, sends.number, nowMs);
  if (retryAfterS === null) return null;
  const detail = `${sends.number.count} codes were sent to this number in ${sends.number.perMs / 1_000} s`;
  return { code: 'otp_rate_limited', detail, retryAfterS, reached: { counted: 'sends', limit: sends.number } };
}

/** Seconds until one more fits into the period, counted exactly; null: it fits now. */
function fullUntil(timesMs: readonly number[], { count, perMs }: OtpLimit, nowMs: number): number | null {
  const recent = timesMs.filter((atMs) => atMs > nowMs - perMs).toSorted((one, other) => one - other);
  const first = recent[recent.length - count];
  return first === undefined ? null : Math.max(1, Math.ceil((first + perMs - nowMs) / 1_000));
}

function tooManyPending({ otps }: OtpNumber, { purpose }: Otp, nowMs: number): OtpRefusal | null {
  const pending = otps.filter((each) => each.purpose === purpose && statusOf(each, nowMs) === 'pending');
  if (pending.length < pendingMax) return null;
  const firstEndMs = Math.min(...pending.map(({ expiresAtMs }) => expiresAtMs));
  const detail = `${pendingMax} codes of this purpose wait for this number: cancel one, or send one of them again`;
  return { code: 'otp_pending_limit', detail, retryAfterS: Math.max(1, Math.ceil((firstEndMs - nowMs) / 1_000)) };
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
