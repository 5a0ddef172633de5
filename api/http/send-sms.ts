// POST /v1/sms from the first header to the 202. The cheapest checks come first: capacity, authentication, body,
// fields, gates, and last the publish. Without an idempotency key everything up to the publish is one synchronous
// turn of the event loop; the answer follows when JetStream acknowledged.
import type { SliceTurns } from './slice-turns.ts';
import type { HttpRequest } from 'uWebSockets.js';
import { type AcceptParts, acceptMessage } from '../../acceptance/accept.ts';
import { buildMessage } from '../../acceptance/build-message.ts';
import type { Principal } from '../../acceptance/principal.ts';
import type { AcceptanceRefusal } from '../../acceptance/refusal.ts';
import type { RefusalAudit } from '../../acceptance/refusal-audit.ts';
import { type MessageId, newMessageId } from '../../model/ids.ts';
import type { Message } from '../../model/message.ts';
import { ignoring } from '../../platform/errors.ts';
import { limits } from '../../platform/limits.ts';
import type { Admit } from '../../policy/admission/admit.ts';
import type { Explain } from '../../policy/admission/explain.ts';
import type { Admitted, Refusal, SmsRequest } from '../../policy/contract.ts';
import { type Problem, problem, problemOf } from '../problem.ts';
import { acceptedAgain, keptOfAccepted } from './accepted-answer.ts';
import { type AccessParts, holdAtWork } from './access.ts';
import { idOfAutomaticKey, readAutomaticKey } from './automatic-key.ts';
import { missingScope } from './bearer.ts';
import type { Exchange } from './exchange.ts';
import { countAccepted } from './exchange-metrics.ts';
import { type DryRuns, explainSms } from './explain-sms.ts';
import type { Guard } from './guard.ts';
import type { Claim, IdempotentRequests, KeyedRequest, WorkResult } from './idempotency/requests.ts';
import { isKnown, maybeForgotten } from './accepted-before.ts';
import { problemOfRefusal } from './refusal-problem.ts';
import { acceptedBody } from './sms-answer.ts';
import type { SliceTurns } from './slice-turns.ts';
import { parseSmsRequest } from './sms-request.ts';
import type { StatusQueryClient } from './status-query-client.ts';
import { type KeyParts, keyedRequest, readWrite, refuseWith } from './write-request.ts';

export type SendSmsParts = AcceptParts &
  KeyParts & {
    readonly access: AccessParts;
    readonly audit: RefusalAudit;
    readonly admit: Admit;
    readonly idempotent: IdempotentRequests;
    readonly queries: StatusQueryClient;
    readonly guard: Guard;
    readonly explain: Explain;
    /** Shared by all batches of the thread. */
    readonly turns: SliceTurns;
    readonly dryRuns: DryRuns;
    /** Bulk work rests as long as single messages wait because of it. */
    readonly turns: SliceTurns;
  };

const operation = 'POST /v1/sms';

export function sendSms(parts: SendSmsParts, exchange: Exchange, req: HttpRequest): void {
  const full = parts.capacity.refuseNow();
  if (full !== null) return refuseWith(exchange, problemOf(full));
  readWrite(parts, exchange, req, { use: 'otp' }, (write) => {
    const { principal, body, idempotencyKey, refuse } = write;
    const crowded = holdAtWork(parts.access, exchange, principal, 'otp');
    if (crowded !== null) return refuse(crowded);
    const parsed = parseSmsRequest(body);
    if (!parsed.ok) return refuse(parsed.problem);
    const { request } = parsed;
    if (parsed.explain) return explainSms(parts, { exchange, principal, request, refuse });
    const refuseAtGate = (refusal: Refusal) => {
      parts.audit.record(principal, request, refusal);
      refuse(problemOfRefusal(refusal));
    };
    const admitted = parts.admit(principal, request);
    const busy = admitted.ok
      ? parts.capacity.refuseMessage({ category: request.category, scheduledAtMs: admitted.notBeforeMs })
      : null;
    if (busy !== null) return refuse(problemOf(busy));
    const automatic = readAutomaticKey(idempotencyKey, parts.clock.nowMs());
    if (automatic !== null && 'problem' in automatic) return refuse(automatic.problem);
    if (idempotencyKey === '' || automatic !== null) {
      if (!admitted.ok) return refuseAtGate(admitted);
      const { accountId } = principal.account;
      const messageId =
        automatic === null
          ? newMessageId(parts.clock.nowMs())
          : idOfAutomaticKey(accountId, principal.livemode, { ...automatic, idempotencyKey });
      return sendPlain(parts, exchange, principal, request, admitted, messageId, refuse);
    }
    // A stored answer is no way around the scope of the key that asks for it.
    const noScope = missingScope(principal, 'sms:send');
    if (noScope !== null) return refuse(noScope);
    const keyed = keyedRequest(parts, operation, write, (kept, createdAtMs, messageId) =>
      acceptedAgain(kept, { request, livemode: principal.livemode, messageId, createdAtMs }),
    );
    if (!admitted.ok)
      return void parts.guard(exchange, () => replayOrRefuse(parts, exchange, keyed, () => refuseAtGate(admitted)));
    parts.guard(exchange, () => sendKeyed(parts, exchange, principal, request, admitted, keyed, refuse));
  });
}

function sendPlain(
  parts: SendSmsParts,
  exchange: Exchange,
  principal: Principal,
  request: SmsRequest,
  admitted: Admitted,
  messageId: MessageId,
  refuse: (problem: Problem) => void,
): void {
  const acceptedAtMs = parts.clock.nowMs();
  const message = buildMessage(principal, request, admitted, { messageId, acceptedAtMs });
  acceptSingle(parts, message, false, (failed) => {
    parts.guard(exchange, () => {
      if (failed !== null) return refuse(problemOf(failed));
      exchange.json(202, acceptedBody(message, admitted.ucs2Because));
      countAccepted(message.category, message.carrier, exchange.elapsedMs);
    });
  });
}

/** How long its publish takes is what bulk work rests by. */
function acceptSingle(
  parts: SendSmsParts,
  message: Message,
  again: boolean,
  done: (refused: AcceptanceRefusal | null) => void,
): void {
  const beganAtMs = parts.clock.monotonicMs();
  const answer = (refused: AcceptanceRefusal | null) => {
    if (refused === null && message.scheduledAtMs === null)
      parts.turns.pace.singleTook(parts.clock.monotonicMs() - beganAtMs);
    done(refused);
  };
  acceptMessage(parts, message, 'otp', answer, again);
}

async function sendKeyed(
  parts: SendSmsParts,
  exchange: Exchange,
  principal: Principal,
  request: SmsRequest,
  admitted: Admitted,
  keyed: KeyedRequest,
  refuse: (problem: Problem) => void,
): Promise<void> {
  const outcome = await parts.idempotent.run(keyed, async (claim): Promise<WorkResult> => {
    const acceptedAtMs = acceptanceTime(claim, parts.clock.nowMs());
    const message = buildMessage(principal, request, admitted, { messageId: claim.messageId, acceptedAtMs });
    const accepted = () => ({
      body: acceptedBody(message, admitted.ucs2Because),
      kept: keptOfAccepted(message, admitted.ucs2Because, claim.createdAtMs),
    });
    if (claim.mayBePublished) {
      const known = await isKnown(parts, message.accountId, message.messageId, parts.clock.nowMs() - claim.createdAtMs);
      if (known === 'unclear') {
        return {
          problem: problem(
            503,
            'overloaded',
            'whether the first try was accepted cannot be determined right now',
            [],
            2,
          ),
          isPublished: 'unknown',
        };
      }
      if (known === 'yes') return accepted();
    }
    const again = maybeForgotten(claim, parts.clock.nowMs());
    const failed = await new Promise<AcceptanceRefusal | null>((resolve) =>
      acceptSingle(parts, message, again, resolve),
    );
    if (failed === null) {
      countAccepted(message.category, message.carrier, exchange.elapsedMs);
      return accepted();
    }
    return { problem: problemOf(failed), isPublished: failed.code === 'overloaded' ? 'unknown' : 'no' };
  });
  if (!outcome.ok) return refuse(outcome.problem);
  exchange.json(202, outcome.body, outcome.replayed ? replayedHeaders : []);
}

export const replayedHeaders = [['idempotent-replayed', 'true']] as const;

/**
 * A gate may refuse now what it passed an hour ago (a sender was removed): a repeat gets the first answer all the same.
 */
async function replayOrRefuse(
  parts: SendSmsParts,
  exchange: Exchange,
  keyed: KeyedRequest,
  refuse: () => void,
): Promise<void> {
  const answer = await parts.idempotent.stored(keyed).catch((error: unknown) => {
    ignoring(error, 'the records of idempotency keys could not be asked: the refusal stands');
    return null;
  });
  if (answer === null) return refuse();
  exchange.json(202, answer, replayedHeaders);
}

/** A repeat soon after the first try says the same time; one much later is accepted when it is accepted. */
export function acceptanceTime(claim: Claim, nowMs: number): number {
  const ageMs = nowMs - claim.createdAtMs;
  return ageMs >= 0 && ageMs < limits.bus.duplicateWindowMs ? claim.createdAtMs : nowMs;
}
