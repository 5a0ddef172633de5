// POST /v1/sms/batch: up to a thousand messages in one request, each validated and accepted like a single one. It works
// in slices so that other requests of the thread do not wait long, keeps a bounded number of publishes in flight, and
// waits where POST /v1/sms would refuse. Under an idempotency key each item's id is derived from the key and its index:
// a retry after a crash publishes what is missing and nothing twice.
import type { Principal } from '../../acceptance/principal.ts';
import { type MessageId, derivedMessageId, newMessageId } from '../../model/ids.ts';
import { limits } from '../../platform/limits.ts';
import { accountGate } from '../../policy/admission/principal-gates.ts';
import { type Problem, problem, problemOfFields, problemOfRefusal, problemOrNull, wrongField } from '../problem.ts';
import { unknownNames } from '../unknown-names.ts';
import { type AutomaticKey, idOfAutomaticKey, readAutomaticKey } from './automatic-key.ts';
import { missingScope, takeTurns } from './access.ts';
import { answerOfKept, batchAnswer, keptAnswer } from './batch-answer.ts';
import { type ItemParts, type ItemResult, sendItems } from './batch-items.ts';
import { refuseTaken } from './places.ts';
import type { Claim, KeyedRequest, WorkResult } from '../../acceptance/idempotency/requests.ts';
import type { SliceTurns, Slices } from './slice-turns.ts';
import { parseObject } from '../json-object.ts';
import { kindOf } from './sms-request.ts';
import {
  type Step,
  type StepResult,
  type WriteParts,
  WriteRequest,
  answerOutcome,
  authenticate,
  keyedRequest,
  readHeaders,
  receiveBody,
} from './write-request.ts';

export type SendBatchParts = ItemParts & WriteParts & { readonly turns: SliceTurns };

const operation = 'POST /v1/sms/batch';
const { messagesMax } = limits.http.batch;

export class SendBatch extends WriteRequest<SendBatchParts> {
  readonly steps = steps;
  readonly use = 'ordinary';
  items: readonly unknown[] = [];
  automatic: AutomaticKey | null = null;
}

/** The gates run for each item (batch-items.ts), after the look-up of the key. */
const steps: readonly Step<SendBatch>[] = [
  checkCapacity,
  authenticate,
  readHeaders,
  refuseEarly,
  receiveBody,
  parseBody,
  readAutomatic,
  takeFurtherTurns,
  send,
];

/** Only conditions that last for seconds; for the others the batch waits, item by item. */
function checkCapacity({ parts }: SendBatch): StepResult {
  return problemOrNull(parts.capacity.refuseAll());
}

/** Before the body, up to a quarter of a megabyte, is received. */
function refuseEarly({ parts, principal }: SendBatch): StepResult {
  const { batches } = parts.access.places;
  return refuseSender(principal) ?? refuseTaken(batches, batches.check(principal.account.accountId));
}

function parseBody(sending: SendBatch): StepResult {
  const items = parseItems(sending.body);
  if ('code' in items) return items;
  sending.items = items;
  return null;
}

function readAutomatic(sending: SendBatch): StepResult {
  const automatic = readAutomaticKey(sending.idempotencyKey, sending.parts.clock.nowMs());
  if (automatic !== null && 'problem' in automatic) return automatic.problem;
  sending.automatic = automatic;
  return null;
}

/** The request itself has taken the first turn. */
function takeFurtherTurns({ parts, exchange, principal, items }: SendBatch): StepResult {
  return takeTurns(parts.access, exchange, principal, items.length - 1);
}

function send(sending: SendBatch): StepResult | Promise<StepResult> {
  const { batches } = sending.parts.access.places;
  const { accountId } = sending.principal.account;
  const crowded = refuseTaken(batches, batches.take(accountId));
  if (crowded !== null) return crowded;
  // Held until the work ends: it goes on when the client disconnects.
  return sendParsed(sending).finally(() => batches.giveBack(accountId));
}

async function sendParsed(sending: SendBatch): Promise<StepResult> {
  const { parts, exchange, principal, items, idempotencyKey, automatic } = sending;
  const slices = parts.turns.slices();
  if (idempotencyKey === '' || automatic !== null) {
    const idOf = automatic === null ? () => newMessageId(parts.clock.nowMs()) : automaticIds(sending, automatic);
    const work = () => sendItems(parts, principal, items, { idOf, claim: null }, slices);
    const results = await parts.turns.run(items.length, work);
    if (results === null) return tooManyBatches;
    exchange.json(202, await batchAnswer(results, slices));
    return 'answered';
  }
  // Hashes the body before the first pause: its memory is valid for this turn only.
  const idOf = derivedIds(sending);
  const keyed = keyedRequest(parts, operation, sending, (kept) =>
    answerOfKept(parts.cipher.open(kept, keyed.place.hash).toString('utf8'), idOf, slices),
  );
  // The lease of the key begins with the work, not while the batch waits for others.
  const outcome = await parts.turns.run(items.length, () =>
    parts.idempotent.run(keyed, (claim) => sendClaimed(sending, { claim, keyed, idOf, slices })),
  );
  return outcome === null ? tooManyBatches : answerOutcome(exchange, outcome);
}

const tooManyBatches = problem(
  503,
  'overloaded',
  'other batches took too long: no message of this one was accepted',
  2,
);

type Claimed = {
  readonly claim: Claim;
  readonly keyed: KeyedRequest;
  readonly idOf: IdOf;
  readonly slices: Slices;
};

async function sendClaimed(
  { parts, principal, items }: SendBatch,
  { claim, keyed, idOf, slices }: Claimed,
): Promise<WorkResult<never>> {
  const identity = { idOf: (index: number) => idOf(index, claim.createdAtMs), claim };
  const results = await sendItems(parts, principal, items, identity, slices);
  const kept = await keptAnswer(results, claim.createdAtMs, slices);
  const body = await answerOfKept(kept, (index) => idOfResult(results[index]) ?? identity.idOf(index), slices);
  // An item that may pass next time: the answer is not final, and a retry under the same key does the rest.
  const mayChange = results.some((result) => 'problem' in result && result.problem.retryAfterS !== null);
  if (mayChange) return { partial: body };
  // Sealed: the text of a refusal may contain a number.
  return { body, kept: parts.cipher.seal(Buffer.from(kept), keyed.place.hash) };
}

const idOfResult = (result: ItemResult | undefined): MessageId | null =>
  result !== undefined && 'id' in result ? result.id : null;

type IdOf = (index: number, createdAtMs: number) => MessageId;

function derivedIds({ principal, idempotencyKey }: SendBatch): IdOf {
  const seed = `${operation}:${principal.livemode ? 'live' : 'test'}:${idempotencyKey}`;
  return (index, createdAtMs) => derivedMessageId(principal.account.accountId, `${seed}#${index}`, createdAtMs);
}

function automaticIds(
  { principal, idempotencyKey }: SendBatch,
  { sentAtMs }: AutomaticKey,
): (index: number) => MessageId {
  const { account, livemode } = principal;
  return (index) => idOfAutomaticKey(account.accountId, livemode, { idempotencyKey, sentAtMs }, index);
}

/** Refuses the whole request for what would refuse every item. */
function refuseSender(principal: Principal): Problem | null {
  const suspended = accountGate(principal);
  return missingScope(principal, 'sms:send') ?? (suspended === null ? null : problemOfRefusal(suspended));
}

function parseItems(body: Buffer): readonly unknown[] | Problem {
  const parsed = parseObject(body);
  if (!parsed.ok) return parsed.problem;
  const { messages, ...others } = parsed.fields;
  const names = Object.keys(others);
  const unknown = unknownNames(names, ['messages'], 'is not a field of this request');
  const foreign = problemOfFields(unknown, names.length);
  if (foreign !== null) return foreign;
  if (messages === undefined) return wrongField('messages', 'is required', 'missing_field');
  if (Array.isArray(messages) && messages.length >= 1 && messages.length <= messagesMax) return messages;
  const found = Array.isArray(messages) ? `${messages.length}` : kindOf(messages);
  return wrongField('messages', `must be an array of 1 to ${messagesMax} messages, found ${found}`);
}
