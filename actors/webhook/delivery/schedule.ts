// When an endpoint that fails, or one event that fails, is tried again; when its account is warned and when it is
// disabled. Pure.
import type { EventId } from '../../../model/ids.ts';
import type { WebhookEndpoint } from '../../../model/webhook-endpoint.ts';
import { limits } from '../../../platform/limits.ts';
import { systemRandom } from '../../../platform/random.ts';
import type { SendError } from '../send/send-error.ts';

const bounds = limits.delivery;

/** Requests that failed one after another: those since the last success. */
export type FailureStreak = {
  /** When the first of them failed, milliseconds since the epoch. */
  readonly sinceMs: number;
  readonly failures: number;
  /** The webhook-id that all of them had. Null: several had one, or the failures say nothing of the event. */
  readonly onlyWebhookId: string | null;
};

/** An endpoint that fails as a whole: what it has waits in its line, and single events are sent to try it. */
export type Failing = {
  /** When the first request failed after the last success, milliseconds since the epoch. */
  readonly sinceMs: number;
  /** Requests that failed since then: those before it failed as a whole count as one. */
  readonly tries: number;
  /** Those of them after which the schedule decided when the next one is due, and not a Retry-After. */
  readonly scheduledTries: number;
  /** Where order matters: the event (of a batch the first) that the endpoint has refused, and how often. */
  readonly refused: { readonly eventId: EventId; readonly times: number } | null;
  readonly nextTryAtMs: number;
  /** How many of the warnings of warnAfterMs were published to its account. */
  readonly warnings: number;
  /** The event that it was disabled was published to its account. */
  readonly isDisabledPublished: boolean;
  /** The place in its line of the event that was tried last; 0 for the first. */
  readonly triedSeq: number;
  /** As in FailureStreak: while one event is all that failed, another one is tried at once. */
  readonly onlyWebhookId: string | null;
  /** Of the endpoint when it began to fail: one that was enabled again since has another. */
  readonly enabledAtMs: number | null;
  readonly error: SendError;
};

/** After one more failed request. `before` null: the one before succeeded. */
export function lengthened(
  before: FailureStreak | null,
  { error, webhookId }: { readonly error: SendError; readonly webhookId: string },
  nowMs: number,
): FailureStreak {
  const isOnly = !isOfEndpoint(error) && (before === null || before.onlyWebhookId === webhookId);
  const { sinceMs, failures } = before ?? { sinceMs: nowMs, failures: 0 };
  return { sinceMs, failures: failures + 1, onlyWebhookId: isOnly ? webhookId : null };
}

/** How long after try number `tries` (from 1) the next one is due. After the last of the schedule it stays as long. */
export function waitAfter(tries: number, random = systemRandom): number {
  const waits = bounds.scheduleMs;
  const waitMs = waits[Math.min(tries, waits.length - 1)] ?? 0;
  return waitMs * (1 + random.unit() * bounds.scheduleJitter);
}

/** An event has been tried as often as the schedule has tries. */
export function isExhausted(tries: number): boolean {
  return tries >= bounds.scheduleMs.length;
}

type Failure = Pick<Failing, 'error' | 'triedSeq' | 'enabledAtMs'> & {
  readonly retryAfterMs: number | null;
  /** The event that was refused, where it holds up those after it. */
  readonly refusedId: EventId | null;
};

/**
 * After one more failed try, the last of the streak. `before` null: it did not fail as a whole until now. A time that the
 * receiver asked for is no step of the schedule; after `askedTriesMax` of them the schedule counts as well. An event that holds up
 * others has the schedule to itself: it is not given up because the endpoint was away before.
 */
export function failed(
  before: Failing | null,
  { sinceMs, failures, onlyWebhookId }: FailureStreak,
  { error, retryAfterMs, triedSeq, enabledAtMs, refusedId }: Failure,
  nowMs: number,
  random = systemRandom,
): Failing {
  const { tries, scheduledTries, warnings, isDisabledPublished } = before ?? newFailing;
  const askedMs = error === 'throttled' ? retryAfterMs : null;
  const isScheduled = askedMs === null || tries - scheduledTries >= bounds.askedTriesMax;
  const isAgain = refusedId !== null && before?.refused?.eventId === refusedId;
  // Those before it failed as a whole count when all of them were of this event.
  const timesBefore = isAgain ? (before.refused?.times ?? 0) : onlyWebhookId === null ? 0 : failures - 1;
  const refused = refusedId === null ? (before?.refused ?? null) : { eventId: refusedId, times: timesBefore + 1 };
  const triesSoFar = refusedId === null ? scheduledTries + 1 : timesBefore + 1;
  const waitMs = isScheduled ? Math.max(askedMs ?? 0, waitAfter(triesSoFar, random)) : askedMs;
  return {
    ...{ sinceMs, onlyWebhookId, warnings, isDisabledPublished, triedSeq, error },
    ...{ refused, enabledAtMs: before === null ? enabledAtMs : before.enabledAtMs },
    ...{ tries: tries + 1, scheduledTries: scheduledTries + (isScheduled ? 1 : 0), nextTryAtMs: nowMs + waitMs },
  };
}

const newFailing = { tries: 0, scheduledTries: 0, warnings: 0, isDisabledPublished: false };

/** Whether its account is to be warned now that it fails. */
export function isWarningDue({ sinceMs, warnings }: Failing, nowMs: number): boolean {
  const afterMs = bounds.warnAfterMs[warnings];
  return afterMs !== undefined && nowMs - sinceMs >= afterMs;
}

/** Why it is to be disabled; null: not yet. */
export function disabledBy({ sinceMs, tries, error }: Failing, nowMs: number): 'gone' | 'failing' | null {
  if (error === 'gone') return 'gone';
  const isLong = nowMs - sinceMs >= bounds.disableAfterMs && tries >= bounds.disableAfterTries;
  return isLong ? 'failing' : null;
}

/** Failures that say something of the endpoint and nothing of the event. */
export function isOfEndpoint(error: SendError): boolean {
  return error !== 'http_error' && error !== 'redirect';
}

type FailedTry = {
  readonly error: SendError;
  readonly retryAfterMs: number | null;
  /** Failures of the endpoint since its last success, this one too. */
  readonly inARow: number;
  /** Of its events, this one too; and whether one of them was made by this process before. */
  readonly tries: number;
  readonly isAgain: boolean;
  readonly wasFailing: boolean;
  readonly ordering: WebhookEndpoint['ordering'];
};

/** Whether a failed request means that its endpoint fails, and not its events alone. */
export function failsAsWhole(of: FailedTry): boolean {
  const { error } = of;
  return (
    of.wasFailing ||
    error === 'gone' ||
    (error === 'throttled' && of.retryAfterMs !== null) ||
    of.inARow >= bounds.failuresInARow ||
    (of.isAgain && isOfEndpoint(error)) ||
    // A try by itself would let later events of its message come before it.
    (of.ordering === 'per_message' && of.tries > 1)
  );
}

/** Failures that say that a receiver cannot follow, or is not there. */
const ofReceiver: ReadonlySet<SendError> = new Set(['timeout', 'connect_error', 'tls_error', 'dns_error', 'throttled']);

/** The same for the requests at once of one account, at most `max`, its share. Other failures change nothing. */
export function nextAccountConcurrency(now: number, error: SendError | null, max: number): number {
  if (error === null) return Math.min(max, now + 1 / now);
  return ofReceiver.has(error) ? Math.max(bounds.accountConcurrencyMin, now * 0.75) : now;
}

/** Additive increase, multiplicative decrease of the requests at once to one endpoint, between 1 and concurrencyMax. */
export function nextConcurrency(now: number, isSuccess: boolean): number {
  return isSuccess ? Math.min(bounds.concurrencyMax, now + 1 / now) : Math.max(1, now / 2);
}
