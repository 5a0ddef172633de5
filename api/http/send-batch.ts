// POST /v1/sms/batch: up to a thousand messages in one request, each validated and accepted like a single one. It
// works in slices so that other requests of the thread do not wait long, keeps a bounded number of publishes in
// flight, and waits where POST /v1/sms would refuse. Under an idempotency key each item's id follows from the key and
// its index: a retry after a crash publishes what is missing and nothing twice.
import type { HttpRequest } from 'uWebSockets.js';
import type { Principal } from '../../acceptance/principal.ts';
import { type MessageId, derivedMessageId, newMessageId } from '../../model/ids.ts';
import { limits } from '../../platform/limits.ts';
import { accountGate } from '../../policy/admission/standing-gates.ts';
import { type FieldProblem, type Problem, problemOf, problemOfFields } from '../problem.ts';
import { type AutomaticKey, idOfAutomaticKey, readAutomaticKey } from './automatic-key.ts';
import { missingScope } from './bearer.ts';
import { answerOfKept, batchAnswer, keptAnswer } from './batch-answer.ts';
import { type BatchItem, type ItemResult, sendItems } from './batch-items.ts';
import type { Exchange } from './exchange.ts';
import { refuseTaken } from './places.ts';
import type { Claim, KeyedRequest, WorkResult } from './idempotency/requests.ts';
import { problemOfRefusal } from './refusal-problem.ts';
import { type SendSmsParts, replayedHeaders } from './send-sms.ts';
import type { Slices } from './slice-turns.ts';
import { kindOf, parseObject } from './sms-request.ts';
import { type Write, keyedRequest, readWrite, refuseWith } from './write-request.ts';

const operation = 'POST /v1/sms/batch';
const { messagesMax } = limits.http.batch;

export function sendBatch(parts: SendSmsParts, exchange: Exchange, req: HttpRequest): void {
  const full = parts.capacity.refuseAll();
  if (full !== null) return refuseWith(exchange, problemOf(full));
  const { batches } = parts.access.places;
  // Who may not send now is refused before its body comes: it may be a quarter of a megabyte.
  const refuseEarly = (principal: Principal) =>
    refuseSender(principal) ?? refuseTaken(batches, batches.look(principal.account.accountId));
  readWrite(parts, exchange, req, { use: 'ordinary', refuse: refuseEarly }, (write) => {
    const { principal, refuse } = write;
    const items = parseItems(write.body);
    if ('code' in items) return refuse(items);
    const automatic = readAutomaticKey(write.idempotencyKey, parts.clock.nowMs());
    if (automatic !== null && 'problem' in automatic) return refuse(automatic.problem);
    // The request itself has taken a turn already.
    const rated = parts.access.rates.ofRequest(principal, items.length - 1);
    exchange.addHeaders(rated.headers);
    if (rated.problem !== null) return refuse(rated.problem);
    const { accountId } = principal.account;
    const crowded = refuseTaken(batches, batches.take(accountId));
    if (crowded !== null) return refuse(crowded);
    parts.guard(exchange, () =>
      // Until the work ends: it goes on when the client goes away.
      sendParsed(parts, exchange, { ...write, automatic }, items).finally(() => batches.giveBack(accountId)),
    );
  });
}

async function sendParsed(
  parts: SendSmsParts,
  exchange: Exchange,
  write: Write & { readonly automatic: AutomaticKey | null },
  items: readonly BatchItem[],
): Promise<void> {
  const { automatic } = write;
  const slices = parts.turns.slices();
  if (write.idempotencyKey === '' || automatic !== null) {
    const idOf = automatic === null ? () => newMessageId(parts.clock.nowMs()) : automaticIds(write, automatic);
    const results = await sendItems(parts, write.principal, items, { idOf, claim: null }, slices);
    return exchange.json(202, await batchAnswer(results, slices));
  }
  // Hashed before the first pause: the body's memory is only lent.
  const idOf = derivedIds(write);
  const keyed = keyedRequest(parts, operation, write, (kept) =>
    answerOfKept(parts.cipher.open(kept, keyed.place.hash).toString('utf8'), idOf, slices),
  );
  const outcome = await parts.idempotent.run(keyed, (claim) =>
    sendClaimed(parts, write, items, { claim, keyed, idOf, slices }),
  );
  if (!outcome.ok) return write.refuse(outcome.problem);
  exchange.json(202, outcome.body, outcome.replayed ? replayedHeaders : []);
}

type Claimed = {
  readonly claim: Claim;
  readonly keyed: KeyedRequest;
  readonly idOf: IdOf;
  readonly slices: Slices;
};

async function sendClaimed(
  parts: SendSmsParts,
  { principal }: Write,
  items: readonly BatchItem[],
  { claim, keyed, idOf, slices }: Claimed,
): Promise<WorkResult> {
  const identity = { idOf: (index: number) => idOf(index, claim.createdAtMs), claim };
  const results = await sendItems(parts, principal, items, identity, slices);
  const kept = await keptAnswer(results, claim.createdAtMs, slices);
  const body = await answerOfKept(kept, (index) => idOfResult(results[index]) ?? identity.idOf(index), slices);
  // An item that may go through the next time: the answer is not final, and the same key does the rest.
  const mayChange = results.some((result) => 'problem' in result && result.problem.retryAfterS !== null);
  if (mayChange) return { partial: body };
  // The text of a refusal may name a number.
  return { body, kept: parts.cipher.seal(Buffer.from(kept), keyed.place.hash) };
}

const idOfResult = (result: ItemResult | undefined): MessageId | null =>
  result !== undefined && 'id' in result ? result.id : null;

type IdOf = (index: number, createdAtMs: number) => MessageId;

function derivedIds({ principal, idempotencyKey }: Write): IdOf {
  const seed = `${operation}:${principal.livemode ? 'live' : 'test'}:${idempotencyKey}`;
  return (index, createdAtMs) => derivedMessageId(principal.account.accountId, `${seed}#${index}`, createdAtMs);
}

function automaticIds({ principal, idempotencyKey }: Write, { sentAtMs }: AutomaticKey): (index: number) => MessageId {
  const { account, livemode } = principal;
  return (index) => idOfAutomaticKey(account.accountId, livemode, { idempotencyKey, sentAtMs }, index);
}

/** What refuses every item alike refuses the request. */
function refuseSender(principal: Principal): Problem | null {
  const suspended = accountGate(principal);
  return missingScope(principal, 'sms:send') ?? (suspended === null ? null : problemOfRefusal(suspended));
}

function parseItems(body: Buffer): readonly BatchItem[] | Problem {
  const parsed = parseObject(body);
  if (!parsed.ok) return parsed.problem;
  const { messages, ...others } = parsed.fields;
  const detailOfUnknownField = 'is not a field of this request; known is messages';
  const [foreign, ...further] = Object.keys(others)
    .slice(0, limits.http.fieldProblemsMax)
    .map((name): FieldProblem => {
      return { field: name.slice(0, 64).toWellFormed(), code: 'unknown_field', detail: detailOfUnknownField };
    });
  if (foreign !== undefined) return problemOfFields(422, [foreign, ...further]);
  if (messages === undefined) {
    return problemOfFields(422, [{ field: 'messages', code: 'missing_field', detail: 'is required' }]);
  }
  if (Array.isArray(messages) && messages.length >= 1 && messages.length <= messagesMax) return messages;
  const found = Array.isArray(messages) ? `${messages.length}` : kindOf(messages);
  const detail = `must be an array of 1 to ${messagesMax} messages, found ${found}`;
  return problemOfFields(422, [{ field: 'messages', code: 'invalid_field', detail }]);
}
