// Turns the items of a batch into results: validates and admits them in slices of the event loop and publishes with a
// bounded number in flight, by the same code as a single request. When the publisher is full the batch waits; items not
// begun after `beginMs` are refused as overloaded, so that the work ends within the lease of the idempotency key.
import { type TrackParts, acceptTracked, buildMessage } from '../../acceptance/accept.ts';
import {
  acceptanceTime,
  type AskKnown,
  firstTryUnclear,
  type Known,
  type KnownMessage,
  knownFrom,
  maybeForgotten,
} from '../../acceptance/idempotency/accepted-before.ts';
import type { Claim } from '../../acceptance/idempotency/requests.ts';
import type { Principal } from '../../acceptance/principal.ts';
import type { MessageWithLinks } from '../../acceptance/link-issuer.ts';
import type { AcceptanceRefusal } from '../../acceptance/refusal.ts';
import type { RefusalAudit } from '../../acceptance/refusal-audit.ts';
import type { MessageId } from '../../model/ids.ts';
import { limits } from '../../platform/limits.ts';
import type { Admit } from '../../policy/admission/gates.ts';
import { sourceOf } from '../../policy/admission/tracked-links.ts';
import { type Problem, problem, problemOf, problemOfRefusal, wrongField } from '../problem.ts';
import { countAccepted } from './exchange-metrics.ts';
import type { Slices } from './slice-turns.ts';
import { acceptedStatus } from './sms-answer.ts';
import { kindOf, smsRequestOf } from './sms-request.ts';

/** The dependencies of accepting one item. */
export type ItemParts = TrackParts & AskKnown & { readonly admit: Admit; readonly audit: RefusalAudit };

export type ItemResult = { readonly id: MessageId; readonly status: 'accepted' | 'scheduled' } | RefusedItem;

/** `problem.retryAfterS` null: refused for good. `error`: the refusal as JSON, as the answer shows it. */
export type RefusedItem = { readonly problem: Problem; readonly error: string };

export function refusedItem(refusal: Problem): RefusedItem {
  const { code, detail, errors } = refusal;
  return { problem: refusal, error: JSON.stringify({ code, detail, errors }) };
}

/** Derives the ids, under a claim if there is an idempotency key. */
export type BatchIdentity = { idOf(index: number): MessageId; readonly claim: Claim | null };

const { inFlightMax, beginMs, beginShare, askedMax } = limits.http.batch;
const roomAgainMs = 2;

/** Returns the results in the order of the items. Never rejects because of an item. */
export async function sendItems(
  parts: ItemParts,
  principal: Principal,
  items: readonly unknown[],
  identity: BatchIdentity,
  slices: Slices,
): Promise<readonly ItemResult[]> {
  const { clock } = parts;
  const { claim } = identity;
  const beganAtMs = clock.monotonicMs();
  const endAtMs = beganAtMs + beginMs;
  const known = claim?.mayBePublished
    ? await knownBefore(parts, principal, items, identity.idOf, claim, endAtMs)
    : null;
  const acceptedAtMs = claim === null ? clock.nowMs() : acceptanceTime(claim, clock.nowMs());
  const results = new Array<ItemResult>(items.length);
  const flight = new Flight();
  /** After an OTP, the next slice is not paused: it is as urgent as a single message. */
  let isOtp = false;
  /** Behind the time at which its last item still begins. */
  const isLate = (index: number) => (clock.monotonicMs() - beganAtMs) * items.length > index * beginMs * beginShare;
  for (let index = 0; index < items.length; index += 1) {
    if (slices.isOver) await slices.next(isOtp || isLate(index) ? 'prompt' : 'messages');
    const before = known?.[index] ?? 'no';
    if (typeof before !== 'string') {
      results[index] = before;
      continue;
    }
    const judged = judge(parts, principal, items[index], { index, idOf: identity.idOf, acceptedAtMs });
    if ('problem' in judged) {
      results[index] = refusedItem(judged.problem);
      continue;
    }
    const { message, links, fieldOf } = judged;
    isOtp = message.category === 'otp';
    while (flight.count >= inFlightMax) await flight.landing();
    while (parts.capacity.mustWait(message) && clock.monotonicMs() < endAtMs) await clock.sleep(roomAgainMs);
    if (clock.monotonicMs() >= endAtMs) {
      results[index] = overloaded;
      continue;
    }
    flight.count += 1;
    const done = (failed: AcceptanceRefusal | null) => {
      results[index] =
        failed === null ? { id: message.messageId, status: acceptedStatus(message) } : refusedItem(problemOf(failed));
      if (failed === null) countAccepted(message.category, message.carrier, clock.monotonicMs() - beganAtMs);
      flight.landed();
    };
    slices.tookMessage();
    const again = claim !== null && maybeForgotten(claim, before, clock.nowMs());
    acceptTracked(parts, { message, links, fieldOf, use: 'ordinary', again }, done);
  }
  while (flight.count > 0) await flight.landing();
  if (slices.isOver) await slices.next();
  return results;
}

/** The publishes of one batch that are not answered yet. */
class Flight {
  count = 0;
  #wake: (() => void) | null = null;

  landed(): void {
    this.count -= 1;
    this.#wake?.();
    this.#wake = null;
  }

  /** Resolves when the next publish is answered. One waiter at a time. */
  landing(): Promise<void> {
    return new Promise((resolve) => {
      this.#wake = resolve;
    });
  }
}

function judge(
  parts: ItemParts,
  principal: Principal,
  item: unknown,
  { index, idOf, acceptedAtMs }: { index: number; idOf: BatchIdentity['idOf']; acceptedAtMs: number },
): MessageWithLinks | { readonly problem: Problem } {
  if (typeof item !== 'object' || item === null || Array.isArray(item)) {
    const detail = `must be an object with the fields of POST /v1/sms, found ${kindOf(item)}`;
    return { problem: wrongField(`messages[${index}]`, detail) };
  }
  const parsed = smsRequestOf(item as Record<string, unknown>);
  if (!parsed.ok) return parsed;
  if (parsed.explain) {
    return { problem: wrongField('dry_run', 'only explains messages of POST /v1/sms: send it there') };
  }
  const admitted = parts.admit(principal, parsed.request);
  if (!admitted.ok) {
    parts.audit.record(principal, parsed.request, admitted);
    return { problem: problemOfRefusal(admitted) };
  }
  const identity = { messageId: idOf(index), acceptedAtMs };
  const message = buildMessage(principal, parsed.request, admitted, identity);
  return { message, links: admitted.links, fieldOf: sourceOf(parsed.request) };
}

/** For each item its first result, if an earlier try under the same key has published it; else what is known of that. */
async function knownBefore(
  parts: ItemParts,
  principal: Principal,
  items: readonly unknown[],
  idOf: BatchIdentity['idOf'],
  claim: Claim,
  endAtMs: number,
): Promise<readonly (ItemResult | Known)[]> {
  const { clock } = parts;
  const { accountId } = principal.account;
  const replies = new Array<KnownMessage>(items.length).fill({ result: 'unavailable', why: 'busy' });
  // Does not wait for events of very young messages: the duplicate window still drops a second publish of them.
  let next = 0;
  let isAway = false;
  const ask = async () => {
    while (next < items.length && !isAway && clock.monotonicMs() < endAtMs) {
      const index = next;
      next += 1;
      const reply = await parts.queries.ofSystem({ accountId, messageId: idOf(index), wait: false });
      replies[index] = reply;
      // `young` concerns one message only; the store may well know the others.
      if (reply.result === 'unavailable' && reply.why !== 'young') isAway = true;
    }
  };
  await Promise.all(Array.from({ length: askedMax }, ask));
  const ageMs = clock.nowMs() - claim.createdAtMs;
  return replies.map((reply, index) => {
    if (reply.result === 'found') return { id: idOf(index), status: acceptedStatus(reply.message) };
    const known = knownFrom(reply, ageMs);
    return known === 'unclear' ? unclear : known;
  });
}

const overloaded = refusedItem(problem(503, 'overloaded', 'the queue did not take it in time', 1));
const unclear = refusedItem(problemOf(firstTryUnclear));
