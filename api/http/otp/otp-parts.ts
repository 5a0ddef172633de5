// What the routes of one-time passwords need, and the steps they share.
import type { z } from '@hono/zod-openapi';
import { type OtpClaim, type OtpParts, ownerOf } from '../../../acceptance/otp/send.ts';
import type { SharedGuard } from '../../../acceptance/otp-guard/shared-guard.ts';
import type { RefusalAudit } from '../../../acceptance/refusal-audit.ts';
import type { Claim, KeyedRequest, WorkResult } from '../../../acceptance/idempotency/requests.ts';
import type { AcceptanceRefusal } from '../../../acceptance/refusal.ts';
import { type MessageId, type OtpId, isOtpId, newMessageId, placeOfOtp } from '../../../model/ids.ts';
import type { Scope } from '../../../model/api-key.ts';
import type { SmsRequest } from '../../../policy/contract.ts';
import type { OtpRules } from '../../../policy/otp/contract.ts';
import { type Problem, problemOf, problemOrNull } from '../../problem.ts';
import { missingScope } from '../access.ts';
import type { StatusQueryClient } from '../status-query-client.ts';
import {
  type StepResult,
  type WriteParts,
  WriteRequest,
  answerFromEntry,
  answerOutcome,
  found,
  readHeaders,
  readKey,
  takeAutomaticKey,
} from '../write-request.ts';
import type { GuardRefusal } from './fraud-guard.ts';
import { problemOfLimits } from './otp-answer.ts';
import type { OtpRates, OtpUser, Taken } from './otp-rates.ts';
import { type ResendOtpBody, clientOf, parseOtpBody } from './otp-bodies.ts';

export type OtpRouteParts = OtpParts &
  WriteParts & {
    /** Texts and limits in effect. */
    readonly otpRules: () => OtpRules;
    readonly rates: OtpRates;
    readonly guard: SharedGuard;
    /** Whether a route is drawn by conversion. */
    readonly drawsRoutes: () => boolean;
    readonly audit: RefusalAudit;
    readonly queries: StatusQueryClient;
  };

/** A write about one-time passwords: it may use what is reserved for them. */
export abstract class OtpRequest extends WriteRequest<OtpRouteParts> {
  readonly use = 'otp';
  /** Of the path; empty for a start. */
  readonly id = this.req.getParameter(0) ?? '';

  get otpId(): OtpId | null {
    return isOtpId(this.id) ? this.id : null;
  }
}

/** On a machine with a wrong clock a code would expire early or late. Events may wait: nothing else of it is asked. */
export const checkClock = ({ parts }: OtpRequest) => problemOrNull(parts.capacity.refuseWrongClock());

export const checkCapacity = ({ parts }: OtpRequest) => problemOrNull(parts.capacity.refuseNow());

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

/** Checks the body against the schema. */
export const parseBody =
  <Body>(schema: z.ZodType<Body>) =>
  (request: OtpRequest & { asked: Body | null }): StepResult => {
    const parsed = parseOtpBody(schema, request.body);
    if (!parsed.ok) return parsed.problem;
    request.asked = parsed.value;
    return null;
  };

/**
 * Answers a repeat under the client's own key as the first request was answered. `operation` distinguishes routes and
 * ids; `answerOf` rebuilds the body.
 */
export function answerRepeat(
  request: OtpRequest,
  about: { operation: string; answerOf: KeyedRequest['answerOf']; status: number },
): StepResult | Promise<StepResult> {
  if (request.idempotencyKey === '') return null;
  const taken = takeAutomaticKey(request, `${about.operation} ${request.idempotencyKey}`);
  if (taken === 'own') return answerFromEntry(request, about);
  return taken === 'automatic' ? null : taken;
}

/** Whom limits are counted for: the number of the one-time password in the path, and who asks. */
export async function userOf({ parts, principal, otpId }: OtpRequest, asked: ResendOtpBody): Promise<OtpUser> {
  const owner = ownerOf(principal);
  const number = await parts.otps.glance(owner, placeOfOtp(found(otpId)));
  return { ...owner, to: number?.to ?? null, ...clientOf(asked) };
}

/**
 * Counts as a send from before its message is sent until it is known that it has sent none. `isCounted`: set when its
 * message counts by this try, which keeps what it took.
 */
export type SendingRequest = OtpRequest & { readonly user: OtpUser | null; taken: Taken | null; isCounted: boolean };

export function takeSend(request: SendingRequest): StepResult {
  const { parts, user } = request;
  const taken = parts.rates.take('sends', parts.otpRules().limits, found(user));
  if (!taken.ok) return problemOfLimits(taken.refusal);
  request.taken = taken;
  return null;
}

export const giveBackSend = ({ parts, taken }: SendingRequest) => parts.rates.giveBack(found(taken).counts);

/**
 * Counts a message that was sent or may have been, by the first of its tries that knows it. Returns the id by which guards
 * recognise what several tries report; null where there is one try.
 */
export function countSend(request: SendingRequest, { messageId, isKeyed }: OtpClaim): MessageId | null {
  request.isCounted = !isKeyed || request.parts.rates.isFirst(messageId);
  return isKeyed ? messageId : null;
}

/** Refused by the guard against fraud: it counts nowhere, and is an event. */
export function refuseByGuard(request: SendingRequest, message: SmsRequest, refused: GuardRefusal): Problem {
  giveBackSend(request);
  request.parts.audit.record(request.principal, message, refused.audited);
  return refused.problem;
}

export type Done = Exclude<WorkResult<AcceptanceRefusal | Problem>, { readonly partial: string }>;

/** Does the work once under the key of the request, or without one, and answers with what became of it. */
export async function answerOnce(
  { parts, exchange, keyed, entry, automaticId }: OtpRequest,
  status: number,
  work: (claim: OtpClaim) => Promise<Done>,
): Promise<StepResult> {
  if (keyed !== null) {
    const claimed = (claim: Claim) => work({ ...claim, isKeyed: true });
    return answerOutcome(exchange, await parts.idempotent.run(keyed, claimed, entry), status);
  }
  const createdAtMs = parts.clock.nowMs();
  const messageId = automaticId ?? newMessageId(createdAtMs);
  const done = await work({ messageId, createdAtMs, mayBePublished: false, isKeyed: automaticId !== null });
  if (!('body' in done)) return problemOf(done.refusal);
  exchange.json(status, done.body);
  return 'answered';
}
