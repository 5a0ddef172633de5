// What the routes of one-time passwords need, and the steps they share.
import type { OtpParts } from '../../../acceptance/otp/send.ts';
import type { SharedGuard } from '../../../acceptance/otp-guard/shared-guard.ts';
import type { RefusalAudit } from '../../../acceptance/refusal-audit.ts';
import type { KeyedRequest } from '../../../acceptance/idempotency/requests.ts';
import type { FoundEntry } from '../../../acceptance/idempotency/store.ts';
import { type MessageId, type OtpId, isOtpId } from '../../../model/ids.ts';
import type { Scope } from '../../../model/api-key.ts';
import type { OtpRules } from '../../../policy/otp/contract.ts';
import { problemOf } from '../../problem.ts';
import { missingScope } from '../access.ts';
import { idOfAutomaticKey, readAutomaticKey } from '../automatic-key.ts';
import type { StatusQueryClient } from '../status-query-client.ts';
import type { StepResult } from '../steps.ts';
import { type WriteParts, WriteRequest, answerOutcome, keyedRequest, readHeaders, readKey } from '../write-request.ts';
import type { OtpRates } from './otp-rates.ts';

export type OtpRouteParts = OtpParts &
  WriteParts & {
    /** Texts and limits in effect. */
    readonly otpRules: () => OtpRules;
    readonly rates: OtpRates;
    readonly fraud: SharedGuard;
    /** Whether a route is drawn by conversion. */
    readonly drawsRoutes: () => boolean;
    readonly audit: RefusalAudit;
    readonly queries: StatusQueryClient;
  };

/** A write about one-time passwords: as single messages, it uses the account's share for OTP. */
export abstract class OtpRequest extends WriteRequest<OtpRouteParts> {
  readonly use = 'otp';
  /** Of the path; empty for a start. */
  readonly id = this.req.getParameter(0) ?? '';
  /** With the client's own idempotency key: the keyed request, and the entry that the look-up found. */
  keyed: KeyedRequest | null = null;
  entry: FoundEntry | null = null;
  /** The message id derived from an automatic key; null: a new id. */
  automaticId: MessageId | null = null;

  get otpId(): OtpId | null {
    return isOtpId(this.id) ? this.id : null;
  }
}

/** On a machine with a wrong clock a code would expire early or late. Events may wait: nothing else of it is asked. */
export function checkClock({ parts }: OtpRequest): StepResult {
  const refused = parts.capacity.refuseWrongClock();
  return refused === null ? null : problemOf(refused);
}

export function checkCapacity({ parts }: OtpRequest): StepResult {
  const full = parts.capacity.refuseNow();
  return full === null ? null : problemOf(full);
}

/** The headers of a request whose body may be left out. */
export function readOptionalHeaders(request: OtpRequest): StepResult {
  if (request.exchange.headerCounts.hasBody) return readHeaders(request);
  const key = readKey(request.exchange, request.req);
  if (typeof key !== 'string') return key;
  request.idempotencyKey = key;
  return null;
}

export const requireScope =
  (scope: Scope) =>
  ({ principal }: OtpRequest) =>
    missingScope(principal, scope);

/**
 * Answers a repeat under the client's own key as the first request was answered. `operation` distinguishes routes and
 * ids; `answerOf` rebuilds the body.
 */
export async function answerRepeat(
  request: OtpRequest,
  { operation, answerOf, status }: { operation: string; answerOf: KeyedRequest['answerOf']; status: number },
): Promise<StepResult> {
  const { parts, principal, idempotencyKey } = request;
  if (idempotencyKey === '') return null;
  const automatic = readAutomaticKey(idempotencyKey, parts.clock.nowMs());
  if (automatic !== null) {
    if ('problem' in automatic) return automatic.problem;
    const key = { ...automatic, idempotencyKey: `${operation} ${idempotencyKey}` };
    request.automaticId = idOfAutomaticKey(principal.account.accountId, principal.livemode, key);
    return null;
  }
  // Reads the body, so before the first wait.
  const keyed = keyedRequest(parts, operation, request, answerOf);
  request.keyed = keyed;
  const looked = await parts.idempotent.lookUp(keyed);
  if ('outcome' in looked) return answerOutcome(request.exchange, looked.outcome, status);
  request.entry = looked.found;
  return null;
}
