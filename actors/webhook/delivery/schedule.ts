// When an endpoint that fails, or one event that fails, is tried again; when its account is warned and when it is
// disabled. Pure.
import { limits } from '../../../platform/limits.ts';
import { systemRandom } from '../../../platform/random.ts';
import type { SendError } from '../send/send-error.ts';

const bounds = limits.delivery;

/** An endpoint that fails as a whole: what it has waits in its line, and single events are sent to try it. */
export type Failing = {
  /** Milliseconds since the epoch; its last success was before. */
  readonly sinceMs: number;
  /** Requests that failed since then, for the schedule: those before it was given up for a while count as one. */
  readonly tries: number;
  readonly nextTryAtMs: number;
  /** How many of the warnings of warnAfterMs were published to its account. */
  readonly warnings: number;
  /** The event that it was disabled was published to its account. */
  readonly isDisabledPublished: boolean;
  /** The place in its line of the event that was tried last; 0 for the first. */
  readonly triedSeq: number;
  readonly error: SendError;
};

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

type Failure = { readonly error: SendError; readonly retryAfterMs: number | null };

/** After one more failed try. `before` null: it worked until now. */
export function failed(
  before: Failing | null,
  { error, retryAfterMs }: Failure,
  triedSeq: number,
  nowMs: number,
  random = systemRandom,
): Failing {
  const { sinceMs, tries, warnings, isDisabledPublished } = before ?? newFailing(nowMs);
  const asked = error === 'throttled' ? retryAfterMs : null;
  const waitMs = asked ?? waitAfter(tries + 1, random);
  return { sinceMs, tries: tries + 1, nextTryAtMs: nowMs + waitMs, warnings, isDisabledPublished, triedSeq, error };
}

const newFailing = (sinceMs: number) => ({ sinceMs, tries: 0, warnings: 0, isDisabledPublished: false });

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
