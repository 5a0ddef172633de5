// What happens beside the delivery of messages and is published for reports and webhooks: how a one-time password goes
// on, what the guard against fraud decides, a click. A record of the stream FACTS each. Types, and what follows from
// one. None has a code, its hash or a text.
import type { ClickClass } from './click-class.ts';
import { type EventId, type MessageId, type OtpId, eventIdOf } from './ids.ts';
import { type Otp, type OtpEndReason, type OtpNumber, type OtpStatus, endReasonOf, statusOf } from './otp.ts';

type FactBase = {
  /** The same for the same thing, however often it is published. */
  readonly eventId: EventId;
  /** When it happened, in milliseconds since the epoch. */
  readonly atMs: number;
  readonly accountId: string;
  readonly livemode: boolean;
};

/** A one-time password as it is at a time: whole, so that the fact with the highest version is all there is to know. */
export type OtpFact = FactBase &
  Pick<Otp, 'id' | 'status' | 'purpose' | 'language' | 'ownCode' | 'sender' | 'clientReference'> &
  Pick<Otp, 'createdAtMs' | 'expiresAtMs' | 'endedAtMs' | 'attempts'> & {
    readonly kind: 'otp';
    readonly version: number;
    /** E.164. */
    readonly to: string;
    readonly reason: OtpEndReason | null;
    /** Its messages, the first one first. */
    readonly messageIds: readonly MessageId[];
  };

/**
 * A decision of the guard. block: numbers are blocked from now on · release: they are not any more · refusal: a request was
 * refused, or would have been (`mode` shadow) · probe: it was sent although its numbers are blocked · challenge_passed: it would
 * have been challenged, and the caller says that a challenge was passed · suspension: a carrier or a block of numbers is in an outage, so that nothing
 * is blocked, by the rule `outage` · resumption: it has ended.
 */
export type GuardFact = FactBase & {
  readonly kind: 'guard';
  readonly what: 'block' | 'release' | 'refusal' | 'probe' | 'challenge_passed' | 'suspension' | 'resumption';
  readonly rule: string;
  /** Of an answer to requests: what was asked for, or would have been; null for blocks, which do either. */
  readonly action: 'block' | 'challenge' | null;
  readonly mode: 'on' | 'shadow';
  /** What was judged: a prefix of numbers, `ip` or `device`; a carrier. Empty of several requests. */
  readonly scope: string;
  /** Of the number that was asked for, without its last six digits; of a block or an outage of numbers theirs; else empty. */
  readonly prefix: string;
  readonly statistic: number;
  readonly threshold: number;
  /**
   * Of a block: its number in a row of blocks, from 1. Of an answer to requests: how many got it (0, of earlier versions: one);
   * in a flood those are counted together. Otherwise 0.
   */
  readonly times: number;
  /** Until when a block lasts, or an outage of numbers at most. Otherwise 0. */
  readonly untilMs: number;
  /** Of a release: `probe` or `operator`; else empty. */
  readonly released: string;
};

export type ClickFact = FactBase & {
  readonly kind: 'click';
  readonly clickId: string;
  readonly linkId: string;
  readonly url: string;
  /** Null: the code was never sent. */
  readonly messageId: string | null;
  readonly class: ClickClass;
  readonly reasons: readonly string[];
  readonly category: string;
  readonly sender: string;
  readonly campaignId: string | null;
  readonly variantId: string | null;
  readonly templateId: string | null;
};

export type Fact = OtpFact | GuardFact | ClickFact;

/** Two for each revision of a record: as it is stored, and as it is when its time is over. */
const versionsOfRevision = 2;

/** The OTP of a number's record, each as a fact. `revision`: of the record. */
export function otpFactsOf(
  { to, otps }: OtpNumber,
  { accountId, livemode }: Pick<OtpFact, 'accountId' | 'livemode'>,
  revision: number,
): readonly OtpFact[] {
  return otps.map((otp) => ({
    kind: 'otp',
    eventId: otpEventId(otp.id, otp.status, otp.sends.length),
    version: revision * versionsOfRevision,
    atMs: otp.endedAtMs ?? otp.sends.at(-1)?.atMs ?? otp.createdAtMs,
    accountId,
    livemode,
    id: otp.id,
    to: to ?? '',
    status: otp.status,
    reason: endReasonOf(otp),
    purpose: otp.purpose,
    language: otp.language,
    ownCode: otp.ownCode,
    sender: otp.sender,
    clientReference: otp.clientReference,
    createdAtMs: otp.createdAtMs,
    expiresAtMs: otp.expiresAtMs,
    endedAtMs: otp.endedAtMs,
    attempts: otp.attempts,
    messageIds: otp.sends.map(({ messageId }) => messageId),
  }));
}

/**
 * The end that nothing wrote: its time is over, or its guesses are when the write after the last one is missing.
 * `isUndelivered`: none of its messages arrived, and none is on its way.
 */
export function endOfTime(fact: OtpFact, isUndelivered: boolean): OtpFact {
  const status = statusOf(fact, fact.expiresAtMs);
  const hasFailed = status === 'expired' && isUndelivered;
  return {
    ...fact,
    eventId: otpEventId(fact.id, status, 0),
    version: fact.version + 1,
    atMs: fact.expiresAtMs,
    status: hasFailed ? 'failed' : status,
    reason: hasFailed ? 'delivery_failed' : endReasonOf({ status, reason: null }),
    endedAtMs: fact.expiresAtMs,
  };
}

/** An end has one id, however it was published; a send has one for each message. */
function otpEventId(id: OtpId, status: OtpStatus, sends: number): EventId {
  const attempt = status === 'pending' ? sends : 0;
  return eventIdOf({ messageId: id, kind: `otp.${status}`, attempt, carrier: '', segment: 0, detail: '' });
}
