// POST /v1/sms as a list of steps, from the headers to the 202. The cheapest checks come first, and a repeat under an
// idempotency key is answered before any gate runs. Without a key everything from the body to the publish is one
// synchronous turn of the event loop; the answer follows when JetStream acknowledges the publish.
import { type TrackParts, acceptTracked, buildMessage, urgentUseOf } from '../../acceptance/accept.ts';
import {
  type AskKnown,
  acceptanceTime,
  firstTryUnclear,
  isKnown,
  maybeForgotten,
} from '../../acceptance/idempotency/accepted-before.ts';
import type { Claim, KeyedRequest, WorkResult } from '../../acceptance/idempotency/requests.ts';
import type { AcceptanceRefusal } from '../../acceptance/refusal.ts';
import type { RefusalAudit } from '../../acceptance/refusal-audit.ts';
import { type MessageId, newMessageId } from '../../model/ids.ts';
import type { Message } from '../../model/message.ts';
import type { Admit } from '../../policy/admission/gates.ts';
import { sourceOf } from '../../policy/admission/tracked-links.ts';
import type { Explain } from '../../policy/admission/explain.ts';
import type { Use } from '../../platform/shared-bound.ts';
import type { Admitted, SmsRequest } from '../../policy/contract.ts';
import { problemOf, problemOfRefusal, problemOrNull } from '../problem.ts';
import { acceptedAgain, acceptedBody, acceptedTextOf, keptOfAccepted } from './sms-answer.ts';
import { missingScope } from './access.ts';
import { countAccepted } from './exchange-metrics.ts';
import { type DryRuns, explainSms } from './explain-sms.ts';
import type { BulkPace } from './bulk-pace.ts';
import type { SliceTurns } from './slice-turns.ts';
import { parseSmsRequest } from './sms-request.ts';
import {
  type Step,
  type StepResult,
  type WriteParts,
  WriteRequest,
  answerFromEntry,
  answerOutcome,
  authenticate,
  found,
  readHeaders,
  receiveBody,
  takeAutomaticKey,
  takeSlot,
} from './write-request.ts';

export type SendSmsParts = TrackParts &
  AskKnown &
  WriteParts & {
    readonly audit: RefusalAudit;
    readonly admit: Admit;
    readonly explain: Explain;
    /** Shared with the batches of the thread, which pause for single messages. */
    readonly turns: SliceTurns;
    readonly pace: Pick<BulkPace, 'otpTook'>;
    readonly dryRuns: DryRuns;
  };

export class SendSms extends WriteRequest<SendSmsParts> {
  readonly steps = steps;
  /** Of the body it is not known yet whether it is an OTP. */
  use: Use = 'urgent';
  /** Set once the body is parsed. */
  request: SmsRequest | null = null;
  isDryRun = false;
  admitted: Admitted | null = null;
}

const steps: readonly Step<SendSms>[] = [
  checkCapacity,
  authenticate,
  readHeaders,
  receiveBody,
  parseBody,
  takeSlot,
  explainDryRun,
  lookUpKey,
  passGates,
  checkMessageCapacity,
  accept,
];

function checkCapacity({ parts }: SendSms): StepResult {
  return problemOrNull(parts.capacity.refuseNow());
}

function parseBody(sending: SendSms): StepResult {
  const parsed = parseSmsRequest(sending.body);
  if (!parsed.ok) return parsed.problem;
  sending.request = parsed.request;
  sending.isDryRun = parsed.explain;
  sending.use = urgentUseOf(parsed.request.category);
  return null;
}

function explainDryRun({ parts, exchange, principal, request, isDryRun }: SendSms): StepResult {
  return isDryRun ? explainSms(parts, exchange, principal, found(request)) : null;
}

/** Answers a repeat as the first request was answered, whatever the gates decide by now. */
function lookUpKey(sending: SendSms): StepResult | Promise<StepResult> {
  const { principal, idempotencyKey } = sending;
  if (idempotencyKey === '') return null;
  const taken = takeAutomaticKey(sending, idempotencyKey);
  if (taken !== 'own') return taken === 'automatic' ? null : taken;
  // A stored answer needs the scope too.
  const noScope = missingScope(principal, 'sms:send');
  if (noScope !== null) return noScope;
  const request = found(sending.request);
  return answerFromEntry(sending, {
    operation: 'POST /v1/sms',
    status: 202,
    answerOf: (kept, createdAtMs, messageId) =>
      acceptedAgain(kept, { request, livemode: principal.livemode, messageId, createdAtMs }),
  });
}

function passGates(sending: SendSms): StepResult {
  const { parts, principal } = sending;
  const request = found(sending.request);
  const admitted = parts.admit(principal, request);
  if (admitted.ok) {
    sending.admitted = admitted;
    return null;
  }
  parts.audit.record(principal, request, admitted);
  return problemOfRefusal(admitted);
}

function checkMessageCapacity({ parts, request, admitted }: SendSms): StepResult {
  const { category } = found(request);
  return problemOrNull(parts.capacity.refuseMessage({ category, scheduledAtMs: found(admitted).notBeforeMs }));
}

function accept(sending: SendSms): StepResult | Promise<StepResult> {
  sending.parts.turns.singleArrived();
  return sending.keyed === null ? acceptPlain(sending) : acceptKeyed(sending, sending.keyed);
}

function acceptPlain(sending: SendSms): StepResult {
  const { parts, exchange } = sending;
  const nowMs = parts.clock.nowMs();
  const { links } = found(sending.admitted);
  const message = messageOf(sending, sending.automaticId ?? newMessageId(nowMs), nowMs);
  const beganAtMs = parts.clock.monotonicMs();
  const fieldOf = sourceOf(found(sending.request));
  acceptTracked(parts, { message, links, fieldOf, use: 'urgent' }, (refused) => {
    parts.answerThrown(exchange, () => {
      if (refused !== null) return sending.refuse(problemOf(refused));
      if (isOtpForNow(message) && links.length === 0) parts.pace.otpTook(parts.clock.monotonicMs() - beganAtMs);
      exchange.json(202, acceptedBody(message, acceptedTextOf(found(sending.request), found(sending.admitted))));
      countAccepted(message.category, message.carrier, exchange.elapsedMs);
    });
  });
  return 'answered';
}

/** A scheduled one is counted and has its event first. */
const isOtpForNow = ({ category, scheduledAtMs }: Message) => category === 'otp' && scheduledAtMs === null;

async function acceptKeyed(sending: SendSms, keyed: KeyedRequest): Promise<StepResult> {
  const work = (claim: Claim) => acceptClaimed(sending, claim);
  return answerOutcome(sending.exchange, await sending.parts.idempotent.run(keyed, work, sending.entry));
}

async function acceptClaimed(sending: SendSms, claim: Claim): Promise<WorkResult<AcceptanceRefusal>> {
  const { parts } = sending;
  const admitted = found(sending.admitted);
  const { links } = admitted;
  const text = acceptedTextOf(found(sending.request), admitted);
  const { clock } = parts;
  const message = messageOf(sending, claim.messageId, acceptanceTime(claim, clock.nowMs()));
  const accepted = () => ({
    body: acceptedBody(message, text),
    kept: keptOfAccepted(message, text, claim.createdAtMs),
  });
  const known = await isKnown(parts, message.accountId, claim);
  if (known === 'unclear') return { refusal: firstTryUnclear, isPublished: 'unknown' };
  if (known === 'yes') return accepted();
  const again = maybeForgotten(claim, known, clock.nowMs());
  const fieldOf = sourceOf(found(sending.request));
  const refused = await new Promise<AcceptanceRefusal | null>((resolve) =>
    acceptTracked(parts, { message, links, fieldOf, use: 'urgent', again }, resolve),
  );
  if (refused === null) {
    countAccepted(message.category, message.carrier, sending.exchange.elapsedMs);
    return accepted();
  }
  return { refusal: refused, isPublished: refused.code === 'overloaded' ? 'unknown' : 'no' };
}

function messageOf({ principal, request, admitted }: SendSms, messageId: MessageId, acceptedAtMs: number): Message {
  return buildMessage(principal, found(request), found(admitted), { messageId, acceptedAtMs });
}
