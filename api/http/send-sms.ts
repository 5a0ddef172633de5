// POST /v1/sms from the first header to the 202. The order is the cost's: whether there is room, who asks, the
// body, its form, the gates, and only then the queue. Without an idempotency key the whole way to the publish is
// one synchronous turn; the answer follows in the turn in which JetStream acknowledged.
import type { HttpRequest } from 'uWebSockets.js';
import { type MessageId, newMessageId } from '../../model/ids.ts';
import type { Clock } from '../../platform/clock.ts';
import { ignoring } from '../../platform/errors.ts';
import { limits } from '../../platform/limits.ts';
import { metrics } from '../../platform/telemetry.ts';
import type { Admit } from '../../policy/admission/admit.ts';
import type { Admission, Admitted, Refusal, SmsRequest } from '../../policy/contract.ts';
import { problemCatalogue } from '../problem-catalogue.ts';
import { type Problem, problem, problemOfFields } from '../problem.ts';
import { type AcceptParts, acceptMessage, messageOfRequest, refuseForRoom } from './accept.ts';
import { type AccessParts, admitCaller } from './access.ts';
import type { Caller } from './bearer.ts';
import type { Exchange } from './exchange.ts';
import { countAccepted } from './exchange-metrics.ts';
import type { Guard } from './guard.ts';
import { bodyHashOf, recordKey } from './idempotency/record.ts';
import type { Claim, IdempotentRequests, KeyedRequest, WorkResult } from './idempotency/requests.ts';
import { readBody } from './read-body.ts';
import { acceptedBody } from './sms-answer.ts';
import { parseSmsRequest } from './sms-request.ts';
import type { StatusQuestions } from './status-questions.ts';
import type { RefusalAudit } from './refusal-audit.ts';

export type SendSmsParts = AcceptParts & {
  readonly access: AccessParts;
  readonly audit: RefusalAudit;
  readonly admit: Admit;
  readonly idempotent: IdempotentRequests;
  readonly questions: StatusQuestions;
  readonly guard: Guard;
  readonly clock: Clock;
};

const operation = 'POST /v1/sms';
const keyPattern = /^[\x20-\x7e]+$/;
const jsonType = /^application\/json\s*(;\s*charset\s*=\s*"?utf-8"?\s*)?$/i;

export function sendSms(parts: SendSmsParts, exchange: Exchange, req: HttpRequest): void {
  const contentType = req.getHeader('content-type');
  const contentLength = req.getHeader('content-length');
  const idempotencyKey = req.getHeader('idempotency-key');
  const refuse = (refusal: Problem) => {
    metrics.refused.inc({ code: refusal.code });
    exchange.refuse(refusal);
  };

  const noRoom = refuseForRoom(parts);
  if (noRoom !== null) return refuse(noRoom);
  const authenticated = admitCaller(parts.access, exchange, req);
  if (!authenticated.ok) return refuse(authenticated.problem);
  if (!jsonType.test(contentType)) {
    return refuse(problem(415, 'unsupported_media_type', 'the body must come as Content-Type: application/json'));
  }
  const keyProblem = refuseKey(idempotencyKey, req);
  if (keyProblem !== null) return refuse(keyProblem);

  const { caller } = authenticated;
  readBody(exchange, contentLength, (body) => {
    parts.guard(exchange, () => {
      const parsed = parseSmsRequest(body);
      if (!parsed.ok) return refuse(parsed.problem);
      const { request } = parsed;
      const refuseAtGate = (refusal: Refusal) => {
        parts.audit.record(caller, request, refusal);
        refuse(problemOfRefusal(refusal));
      };
      const admitted = unlessHeld(parts.admit(caller, request));
      if (idempotencyKey === '') {
        if (!admitted.ok) return refuseAtGate(admitted);
        return sendPlain(parts, exchange, caller, request, admitted, refuse);
      }
      const keyed: KeyedRequest = {
        recordKey: recordKey(caller.account.accountId, caller.key.livemode, operation, idempotencyKey),
        bodyHash: bodyHashOf(body),
        accountId: caller.account.accountId,
        livemode: caller.key.livemode,
        idempotencyKey,
        quota: parts.access.rates.keyQuota(caller.account),
      };
      if (!admitted.ok)
        return void parts.guard(exchange, () => replayOrRefuse(parts, exchange, keyed, () => refuseAtGate(admitted)));
      parts.guard(exchange, () => sendKeyed(parts, exchange, caller, request, admitted, keyed, refuse));
    });
  });
}

function sendPlain(
  parts: SendSmsParts,
  exchange: Exchange,
  caller: Caller,
  request: SmsRequest,
  admitted: Admitted,
  refuse: (problem: Problem) => void,
): void {
  const nowMs = parts.clock.nowMs();
  const message = messageOfRequest(caller, request, admitted, { messageId: newMessageId(nowMs), acceptedAtMs: nowMs });
  acceptMessage(parts, message, (failed) => {
    parts.guard(exchange, () => {
      if (failed !== null) return refuse(failed);
      exchange.json(202, acceptedBody(message, admitted.ucs2Because));
      countAccepted(message.category, message.carrier, exchange.elapsedMs);
    });
  });
}

async function sendKeyed(
  parts: SendSmsParts,
  exchange: Exchange,
  caller: Caller,
  request: SmsRequest,
  admitted: Admitted,
  keyed: KeyedRequest,
  refuse: (problem: Problem) => void,
): Promise<void> {
  const outcome = await parts.idempotent.run(keyed, async (claim): Promise<WorkResult> => {
    const acceptedAtMs = acceptanceTime(claim, parts.clock.nowMs());
    const message = messageOfRequest(caller, request, admitted, { messageId: claim.messageId, acceptedAtMs });
    if (claim.mayBePublished) {
      const known = await isKnown(parts, message.accountId, message.messageId, parts.clock.nowMs() - claim.createdAtMs);
      if (known === 'unclear') {
        return {
          problem: problem(503, 'overloaded', 'whether the first try was accepted cannot be told right now', [], 2),
          isPublished: 'unknown',
        };
      }
      if (known === 'yes') return acceptedBody(message, admitted.ucs2Because);
    }
    const failed = await new Promise<Problem | null>((resolve) => acceptMessage(parts, message, resolve));
    if (failed === null) {
      countAccepted(message.category, message.carrier, exchange.elapsedMs);
      return acceptedBody(message, admitted.ucs2Because);
    }
    return { problem: failed, isPublished: failed.code === 'overloaded' ? 'unknown' : 'no' };
  });
  if (!outcome.ok) return refuse(outcome.problem);
  exchange.json(202, outcome.body, outcome.replayed ? replayedHeaders : []);
}

const replayedHeaders = [['idempotent-replayed', 'true']] as const;

/** The gates may say no to what they let through an hour ago (a sender was removed): its repeat gets its answer. */
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

/**
 * Whether the first owner's publish took place, asked of the event store. The stream's own duplicate detection
 * forgets consumed ids when the server restarts and everything after its window; within the window it is trusted
 * when the event store is away.
 */
async function isKnown(
  parts: SendSmsParts,
  accountId: string,
  messageId: MessageId,
  ageMs: number,
): Promise<'yes' | 'no' | 'unclear'> {
  const reply = await parts.questions.get({ accountId, messageId });
  if ('found' in reply) return reply.found ? 'yes' : 'no';
  return ageMs >= 0 && ageMs < limits.bus.duplicateWindowMs ? 'no' : 'unclear';
}

/** A repeat soon after the first try says the same time; one much later is accepted when it is accepted. */
function acceptanceTime(claim: Claim, nowMs: number): number {
  const ageMs = nowMs - claim.createdAtMs;
  return ageMs >= 0 && ageMs < limits.bus.duplicateWindowMs ? claim.createdAtMs : nowMs;
}

function refuseKey(key: string, req: HttpRequest): Problem | null {
  const { idempotencyKeyCharsMax } = limits.http;
  const isSound = key === '' ? !isSent(req) : key.length <= idempotencyKeyCharsMax && keyPattern.test(key);
  if (isSound) return null;
  return problemOfFields(422, [
    {
      field: 'Idempotency-Key',
      code: 'invalid_field',
      detail: `must have 1–${idempotencyKeyCharsMax} printable ASCII characters`,
    },
  ]);
}

/** uWebSockets.js reads a header beyond ASCII as empty. Taken for no key, its client would trust in vain. */
function isSent(req: HttpRequest): boolean {
  let sent = false;
  req.forEach((name) => {
    if (name === 'idempotency-key') sent = true;
  });
  return sent;
}

/** Until messages can wait for their hour, one that would have to is refused, and says so. */
function unlessHeld(admission: Admission): Admission {
  if (!admission.ok || admission.notBeforeMs === null) return admission;
  const at = new Date(admission.notBeforeMs).toISOString();
  return {
    ok: false,
    code: 'quiet_hours',
    field: 'category',
    detail: `may be sent again from ${at}; holding until then is not available in this version`,
  };
}

function problemOfRefusal({ code, field, detail }: Refusal): Problem {
  if (field !== null) return problemOfFields(422, [{ field, code, detail }]);
  const [status] = problemCatalogue[code].statuses;
  return status === 503 ? problem(status, code, detail, [], 5) : problem(status, code, detail);
}
