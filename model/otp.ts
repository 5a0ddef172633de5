// A one-time password and the record of its number: everything an account's one-time passwords for one telephone number
// share (what is pending, sends, failed guesses) is one record, so that every decision is one compare-and-set. Types,
// and the status that follows from the time.
import type { MessageId, OtpId } from './ids.ts';
import type { MessageStatus } from './status.ts';

export const otpStatuses = ['pending', 'verified', 'expired', 'max_attempts_reached', 'canceled', 'failed'] as const;
export type OtpStatus = (typeof otpStatuses)[number];

/**
 * Why a record says that an OTP failed. locked: too many failed guesses about its number · not_sent: its message was not
 * accepted, so that nearly always no client knows it.
 */
export const otpFailures = ['locked', 'not_sent'] as const;
export type OtpFailure = (typeof otpFailures)[number];

/**
 * Why an OTP is `failed`. delivery_failed: its time is over, and none of its messages was delivered or is on its way. Only
 * the event store knows that, so no record says it.
 */
export const otpFailReasons = [...otpFailures, 'delivery_failed'] as const;
export type OtpFailReason = (typeof otpFailReasons)[number];

/** Why an OTP ended without being verified or canceled. */
export const otpEndReasons = [...otpFailReasons, 'expired', 'max_attempts_reached'] as const;
export type OtpEndReason = (typeof otpEndReasons)[number];

/** One message with the code. */
export type OtpSend = { readonly messageId: MessageId; readonly atMs: number };

/** A guess that was counted: the print of the names of its request, and when. */
export type OtpGuess = readonly [by: string, countedAtMs: number];

export type Otp = {
  readonly id: OtpId;
  /** What it confirms, in the client's words: OTP of different purposes do not touch each other. */
  readonly purpose: string;
  /** As stored: `expired`, and the end of attempts, may follow from the time and the count (`statusOf`). */
  readonly status: OtpStatus;
  readonly reason: OtpFailure | null;
  /**
   * Code and text, sealed for (id, account, number), in base64; null once it has ended. No Buffer: threads remember
   * thousands, and each would keep the 8 KiB alive from which Node cuts small ones.
   */
  readonly sealed: string | null;
  /** Guesses begun: counted before the code is compared. */
  readonly attempts: number;
  /** The last of them, so that a request whose answer was lost counts once; none once it has ended. */
  readonly guesses: readonly OtpGuess[];
  readonly createdAtMs: number;
  readonly expiresAtMs: number;
  readonly endedAtMs: number | null;
  readonly sender: string;
  readonly clientReference: string | null;
  /** Of its text; null for a template of the account. */
  readonly language: string | null;
  /** The client brought the code, which may be verified elsewhere. */
  readonly ownCode: boolean;
  readonly sends: readonly OtpSend[];
  /** Names the request whose guess was right, by its idempotency key where it has one: only it gets the answer again. */
  readonly verifiedBy: string | null;
};

/** All one-time passwords of one account (and mode) for one number. Times in milliseconds since the epoch. */
export type OtpNumber = {
  /** E.164; null while there is no record. */
  readonly to: string | null;
  readonly otps: readonly Otp[];
  /** When a message was sent, within the longest period that a limit counts. */
  readonly sendsMs: readonly number[];
  /** Guesses that failed, and those being compared. */
  readonly failuresMs: readonly number[];
  /** A person has unlocked the number: failures up to then count no more. 0: nobody has. */
  readonly forgottenToMs: number;
};

/** What is known of failed guesses beyond the hour of the record. */
export type OtpFailures = Pick<OtpNumber, 'failuresMs' | 'forgottenToMs'>;

export const otpAttemptsMax = 5;

/** Digits of a code; fewer than `withoutFlagMin` where the operator allows an account to. */
export const otpLength = { min: 4, max: 10, usual: 6, withoutFlagMin: 6 } as const;

/** How a message can end without having arrived. After `unknown` it may have. */
const undelivered = new Set<MessageStatus>(['undelivered', 'expired', 'rejected', 'failed', 'blocked', 'canceled']);

/** Whether no message of an OTP has arrived or still may: by the status of each, null where it is not known. */
export function isUndelivered(statuses: readonly (string | null)[]): boolean {
  return statuses.length > 0 && statuses.every((status) => status !== null && undelivered.has(status as MessageStatus));
}

/**
 * The status at a time: an OTP ends by itself when its attempts or its time are over. Attempts are counted before its time
 * is over only, so they end it first.
 */
export function statusOf(otp: Pick<Otp, 'status' | 'expiresAtMs' | 'attempts'>, nowMs: number): OtpStatus {
  if (otp.status !== 'pending') return otp.status;
  if (otp.attempts >= otpAttemptsMax) return 'max_attempts_reached';
  return nowMs >= otp.expiresAtMs ? 'expired' : 'pending';
}

/** Null of one that waits, was verified or was canceled. */
export function endReasonOf({ status, reason }: Pick<Otp, 'status' | 'reason'>): OtpEndReason | null {
  if (status === 'failed') return reason;
  return status === 'max_attempts_reached' || status === 'expired' ? status : null;
}

export function attemptsRemaining({ attempts }: Pick<Otp, 'attempts'>): number {
  return Math.max(0, otpAttemptsMax - attempts);
}
