// Starts a one-time password and sends it again. Its record is stored before its message is published: a code that
// arrives can be verified. What was certainly not published is taken back, by the request that stored it; where that is
// not known under an idempotency key, the record stays, so that the next try sends the same code under the same message id.
import { type AccountId, type OtpId, otpIdOf, placeOfOtp } from '../../model/ids.ts';
import type { Message } from '../../model/message.ts';
import { type Otp, type OtpSend, statusOf } from '../../model/otp.ts';
import type { BodyCipher } from '../../model/records/body-cipher.ts';
import { otpBinding } from '../../model/records/otp-record.ts';
import type { Clock } from '../../platform/clock.ts';
import { limits } from '../../platform/limits.ts';
import type { Admit } from '../../policy/admission/gates.ts';
import type { Admitted, SmsRequest } from '../../policy/contract.ts';
import type { OtpLimits } from '../../policy/otp/contract.ts';
import type { HedgingRules } from '../../policy/otp-hedging/contract.ts';
import { isInControlGroup } from '../../policy/otp-hedging/decide-hedge.ts';
import { cancelOtp, resendOtp, startOtp, withdrawSend } from '../../policy/otp/rules.ts';
import { type AcceptParts, acceptMessage, buildMessage } from '../accept.ts';
import { type AskKnown, firstTryUnclear, isKnown, maybeForgotten } from '../idempotency/accepted-before.ts';
import type { Claim } from '../idempotency/requests.ts';
import type { Principal } from '../principal.ts';
import type { AcceptanceRefusal } from '../refusal.ts';
import { type OtpFailed, noOtp, notAccepted, otpRefused, otpUnavailable } from './refusal.ts';
import type { OtpOwner, OtpStore } from './store.ts';

export type OtpParts = AcceptParts &
  AskKnown & {
    readonly otps: OtpStore;
    readonly admit: Admit;
    /** The limits in effect. */
    readonly otpLimits: () => OtpLimits;
    /** Which messages may be sent to a second carrier; absent: none. */
    readonly hedging?: () => HedgingRules;
    readonly cipher: BodyCipher;
    readonly clock: Clock;
  };

/** A request that the gates have let pass. */
export type OtpDraft = {
  /** Its text has the code. */
  readonly request: SmsRequest;
  readonly admitted: Admitted;
  readonly code: string;
  /** The client brought it. */
  readonly ownCode: boolean;
  /** Of the text; null for a template of the account. */
  readonly language: string | null;
  readonly purpose: string;
  readonly ttlMs: number;
  /** Whether its being entered says something about the carrier: nothing else keeps people from it. */
  readonly isScored: boolean;
};

/** What is sealed in the record: the code to compare with, and the text to send again. */
export type OtpSecret = { readonly code: string; readonly text: string };

/** `code`: null when it has ended meanwhile. */
export type OtpStarted = { readonly ok: true; readonly otp: Otp; readonly to: string; readonly code: string | null };
/** An OTP and its number. */
export type OtpOfNumber = Pick<OtpStarted, 'otp' | 'to'>;
/** `isPublished`: of the message, as in WorkResult of idempotency/requests.ts. `mayBeSent`: it may be published all the same. */
type NotPublished = OtpFailed & { readonly isPublished: 'no' | 'unknown'; readonly mayBeSent?: OtpOfNumber };
/**
 * now: this request has sent the message · before: an earlier one under the same key had · no: the OTP has ended since, and nobody
 * asks whether an earlier one had.
 */
type OtpSent = OtpStarted & { readonly sent: 'now' | 'before' | 'no' };
/** `isStored`: this request has written the OTP or the send into its record, or may have. */
export type OtpSendResult = (OtpSent | NotPublished) & { readonly isStored: boolean };

/**
 * Whose message was sent, or may have been, by this try of the request or by an earlier one: it counts, once for all tries.
 * Null: none.
 */
export function sentOf(result: OtpSendResult): OtpOfNumber | null {
  if (!result.ok) return result.mayBeSent ?? null;
  return result.sent === 'no' ? null : result;
}

/** The message id, and what an earlier try under the same idempotency key may have done. */
export type OtpClaim = Pick<Claim, 'messageId' | 'mayBePublished' | 'createdAtMs'> & { readonly isKeyed: boolean };

export const ownerOf = ({ account, livemode }: Principal): OtpOwner => ({ accountId: account.accountId, livemode });

export async function startAndSend(
  parts: OtpParts,
  principal: Principal,
  draft: OtpDraft,
  claim: OtpClaim,
): Promise<OtpSendResult> {
  const { otps, clock, otpLimits } = parts;
  const owner = ownerOf(principal);
  const { to } = draft.request;
  const place = otps.placeOf(owner, to);
  const nowMs = clock.nowMs();
  const otp = newOtp(parts, owner.accountId, draft, { id: otpIdOf(claim.messageId, place), claim, nowMs });
  const started = await otps.change(owner, place, (held) => startOtp(held, otp, to, otpLimits(), clock.nowMs()));
  if (!started.ok) return { ...otpUnavailable, isPublished: 'no', isStored: true };
  const { answer } = started;
  if (answer.kind === 'refused') return { ...otpRefused(answer.refusal), ...nothing };
  const secret = openOtp(parts.cipher, answer.otp, owner.accountId, to);
  const isStored = answer.kind === 'started';
  const send = { messageId: claim.messageId, atMs: answer.otp.createdAtMs };
  return sendStored(parts, principal, secret, { ...draft, otp: answer.otp, send, claim, isStored });
}

export async function resendAndSend(
  parts: OtpParts,
  principal: Principal,
  id: OtpId,
  claim: OtpClaim,
): Promise<OtpSendResult> {
  const { otps, clock, otpLimits, cipher } = parts;
  const owner = ownerOf(principal);
  const place = placeOfOtp(id);
  const held = await otps.read(owner, place);
  if (held === null) return { ...otpUnavailable, ...nothing };
  const known = held.otps.find((each) => each.id === id);
  if (known === undefined || held.to === null) return { ...noOtp, ...nothing };
  const { to } = held;
  const secret = openOtp(cipher, known, owner.accountId, to);
  // Asked again, because the number may have opted out since; an OTP that has ended is refused by its rules below.
  const request = requestOf({ to, from: known.sender, message: secret?.text ?? '', reference: known.clientReference });
  const admitted = secret === null ? null : parts.admit(principal, request);
  if (admitted !== null && !admitted.ok) return { ok: false, why: 'gate', refusal: admitted, ...nothing };
  const send = { messageId: claim.messageId, atMs: clock.nowMs() };
  const resent = await otps.change(owner, place, (now) => resendOtp(now, id, send, otpLimits(), clock.nowMs()));
  if (!resent.ok) return { ...otpUnavailable, isPublished: 'no', isStored: true };
  const { answer } = resent;
  if (answer.kind === 'none') return { ...noOtp, ...nothing };
  if (answer.kind === 'refused') return { ...otpRefused(answer.refusal), ...nothing };
  const isStored = answer.kind === 'changed';
  // Nobody knows which message of several is entered. The first one was not, when this one is asked for.
  const draft = { request, admitted, isScored: false };
  return sendStored(parts, principal, secret, { ...draft, otp: answer.otp, send, claim, isStored });
}

/** Publishes the message of what the record has by now. `secret` and `admitted`: null when it had ended. */
async function sendStored(
  parts: OtpParts,
  principal: Principal,
  secret: OtpSecret | null,
  { admitted, ...sending }: Omit<Publish, 'text' | 'admitted'> & { readonly admitted: Admitted | null },
): Promise<OtpSendResult> {
  const { otp, request, isStored } = sending;
  const found = { ok: true, otp, to: request.to, code: secret?.code ?? null, isStored } as const;
  if (secret === null || admitted === null || hasEnded(otp, parts.clock)) return { ...found, sent: 'no' };
  const published = await publish(parts, principal, { ...sending, admitted, text: secret.text });
  return published.ok ? { ...found, ...published } : { ...published, isStored };
}

const nothing = { isPublished: 'no', isStored: false } as const;

/** Since the first try of the request: its message must not go out any more. */
const hasEnded = (otp: Otp, clock: Clock) => statusOf(otp, clock.nowMs()) !== 'pending';

/** Ends a pending OTP; canceling it again changes nothing. */
export async function cancelPending(parts: OtpParts, principal: Principal, id: OtpId): Promise<OtpStarted | OtpFailed> {
  const { otps, clock, otpLimits } = parts;
  let to: string | null = null;
  const canceled = await otps.change(ownerOf(principal), placeOfOtp(id), (held) => {
    to = held.to;
    return cancelOtp(held, id, otpLimits(), clock.nowMs());
  });
  if (!canceled.ok) return otpUnavailable;
  const { answer } = canceled;
  if (answer.kind === 'none' || to === null) return noOtp;
  if (answer.kind === 'refused') return otpRefused(answer.refusal);
  return { ok: true, otp: answer.otp, to, code: null };
}

/** Null when it has ended: then there is nothing to compare or send. Throws when its body key is gone. */
export function openOtp(cipher: BodyCipher, otp: Otp, accountId: AccountId, to: string): OtpSecret | null {
  if (otp.sealed === null) return null;
  return JSON.parse(
    cipher.open(Buffer.from(otp.sealed, 'base64'), otpBinding(otp.id, accountId, to)).toString('utf8'),
  ) as OtpSecret;
}

/** The message of a code, for the gates. */
export function requestOf(of: {
  readonly to: string;
  readonly from: string;
  readonly message: string;
  readonly reference: string | null;
}): SmsRequest {
  return {
    to: of.to,
    from: of.from,
    message: of.message,
    template: null,
    category: 'otp',
    encoding: 'auto',
    transliterate: false,
    clientReference: of.reference,
    validitySeconds: null,
    sendAtMs: null,
    quietHours: 'reject',
  };
}

type Made = { readonly id: OtpId; readonly claim: OtpClaim; readonly nowMs: number };

function newOtp(
  { cipher }: OtpParts,
  accountId: AccountId,
  { request, admitted, code, ownCode, language, purpose, ttlMs }: OtpDraft,
  { id, claim, nowMs }: Made,
): Otp {
  const secret: OtpSecret = { code, text: admitted.text };
  return {
    id,
    purpose,
    status: 'pending',
    reason: null,
    sealed: cipher.seal(Buffer.from(JSON.stringify(secret)), otpBinding(id, accountId, request.to)).toString('base64'),
    attempts: 0,
    guesses: [],
    createdAtMs: nowMs,
    expiresAtMs: nowMs + ttlMs,
    endedAtMs: null,
    sender: request.from,
    clientReference: request.clientReference,
    language,
    ownCode,
    sends: [{ messageId: claim.messageId, atMs: nowMs }],
    verifiedBy: null,
  };
}

type Publish = Pick<OtpDraft, 'request' | 'admitted' | 'isScored'> & {
  readonly otp: Otp;
  readonly text: string;
  readonly send: OtpSend;
  readonly claim: OtpClaim;
  /** False: an earlier request did, which may have published it. */
  readonly isStored: boolean;
};

async function publish(
  parts: OtpParts,
  principal: Principal,
  { request, admitted, otp, text, send, claim, isScored, isStored }: Publish,
): Promise<{ readonly ok: true; readonly sent: 'now' | 'before' } | NotPublished> {
  const { clock, otps } = parts;
  const { accountId } = principal.account;
  const known = await isKnown(parts, accountId, claim);
  if (known === 'unclear') return { ...notAccepted(firstTryUnclear), isPublished: 'unknown' };
  if (known === 'yes') return { ok: true, sent: 'before' };
  // Not before the answer: a process that was paused meanwhile must see how old the first try is by now.
  const nowMs = clock.nowMs();
  const validitySeconds = validityOf(otp, nowMs);
  const accepted = { messageId: claim.messageId, acceptedAtMs: nowMs };
  const built = buildMessage(principal, { ...request, validitySeconds }, { ...admitted, text }, accepted);
  const { scoredAs } = admitted.route;
  const score = isScored && scoredAs !== undefined ? { scoredAs } : {};
  const message = { ...built, ...hedgeOf(parts.hedging?.() ?? null, otp.id, built), ...score };
  const again = maybeForgotten(claim, known, nowMs);
  const { refused, isRepeat } = await new Promise<{ refused: AcceptanceRefusal | null; isRepeat: boolean }>((resolve) =>
    acceptMessage(
      parts,
      message,
      'urgent',
      (why, isDuplicate) => resolve({ refused: why, isRepeat: isDuplicate }),
      again,
    ),
  );
  // What is stored here was sent here: then the copy that the stream dropped is the publisher's own, after a lost ack.
  if (refused === null) return { ok: true, sent: isStored || !isRepeat ? 'now' : 'before' };
  const isRefused = refused.mayBeAccepted !== true;
  if ((isRefused && isStored) || !claim.isKeyed) {
    // A failure leaves it until it expires: it counts as one of the number's pending codes.
    await otps.change(ownerOf(principal), placeOfOtp(otp.id), (held) =>
      withdrawSend(held, otp.id, send, clock.nowMs()),
    );
  }
  // Where an earlier try may have published it, the key is free again and the record stays.
  if (isRefused) return { ...notAccepted(refused), isPublished: 'no' };
  const mayBeSent = claim.isKeyed ? { mayBeSent: { otp, to: request.to } } : {};
  return { ...notAccepted(refused), isPublished: 'unknown', ...mayBeSent };
}

/** Only a message with another carrier in its plan can be hedged. */
function hedgeOf(rules: HedgingRules | null, id: OtpId, { plan, segments }: Message): Pick<Message, 'hedge'> {
  if (rules === null || !rules.enabled || plan.length === 0 || segments !== 1) return {};
  return { hedge: isInControlGroup(id, rules.control) ? 'control' : 'may' };
}

/** No longer than the code counts. */
function validityOf({ expiresAtMs }: Otp, nowMs: number): number {
  const { validitySecondsMin, validityOtpMs } = limits.message;
  const leftS = Math.floor(Math.min(validityOtpMs, expiresAtMs - nowMs) / 1_000);
  return Math.max(validitySecondsMin, leftS);
}
