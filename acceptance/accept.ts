// Accepts a message: builds its record and makes it durable. Its tracked links get their codes first (link-issuer.ts). A
// message without a time is published to its queue; a scheduled one is counted first and waits in SCHEDULED. Nats-Msg-Id is
// the message id with its hop, so a repeated publish stores nothing. The `accepted` event is written without waiting: if the
// process dies first, readers derive the same event from the carrier actor's intent (model/delivery-event.ts).
import type { EventWriter } from '../cluster/bus/event-writer.ts';
import { publishLater } from '../cluster/bus/later.ts';
import type { AccountQueues } from '../cluster/bus/overflow-heartbeat.ts';
import type { Publisher, PublishResult } from '../cluster/bus/publisher.ts';
import { asRepublished } from '../cluster/bus/republished.ts';
import { type FullShare, type ScheduledShares, unitsOf } from '../cluster/bus/scheduled-shares.ts';
import { messageSubject } from '../cluster/bus/subjects.ts';
import { acceptedEvent, scheduledEvent } from '../model/delivery-event.ts';
import type { Category, Message } from '../model/message.ts';
import type { BodyCipher } from '../model/records/body-cipher.ts';
import { encodeMessage, messageRecordId } from '../model/records/message-record.ts';
import type { Clock } from '../platform/clock.ts';
import { limits } from '../platform/limits.ts';
import type { Use } from '../platform/shared-bound.ts';
import type { Capacity } from './capacity.ts';
import { mayMissWindow } from './idempotency/accepted-before.ts';
import { type LinkParts, type MessageWithLinks, issueLinks } from './link-issuer.ts';
import { type AcceptanceRefusal, refusal, refusalOfFailure } from './refusal.ts';
import type { AccountId, MessageId } from '../model/ids.ts';
import type { Admitted, SmsRequest } from '../policy/contract.ts';
import type { Principal } from './principal.ts';

export type PublishParts = {
  readonly publisher: Publisher;
  readonly events: EventWriter;
  readonly cipher: BodyCipher;
};

export type AcceptParts = PublishParts & {
  readonly queues: Pick<AccountQueues, 'placeOf'>;
  readonly scheduled: Pick<ScheduledShares, 'take' | 'giveBack'>;
  readonly capacity: Capacity;
  readonly clock: Clock;
};

/**
 * `refused` is null once the message is durable; `isRepeat`: it already was durable before. acceptMessage may call it
 * before it returns.
 */
export type AcceptDone = (refused: AcceptanceRefusal | null, isRepeat: boolean) => void;

export type TrackParts = AcceptParts & LinkParts;

/** Without `links` (policy's Admitted) the message is accepted at once. */
type Tracked = MessageWithLinks & {
  readonly use: Use;
  readonly again?: boolean;
};

/** As acceptMessage, for a message whose links may be tracked. */
export function acceptTracked(
  parts: TrackParts,
  { message, links, fieldOf, use, again = false }: Tracked,
  done: AcceptDone,
): void {
  if (links.length === 0) return acceptMessage(parts, message, use, done, again);
  issueLinks(parts, { message, links, fieldOf }, (issued) =>
    'refused' in issued ? done(issued.refused, false) : acceptMessage(parts, issued.message, use, done, again),
  );
}

/**
 * Holds one of the account's publish slots until `done`. `use`: which share of the slots it may take. 'urgent' is for
 * single messages of any category, 'ordinary' for those of batches, which leave slots for single messages; a single OTP
 * may take what is reserved for them, too. `again`: another request under the same idempotency key may have published it,
 * and the stream may not know its id any more.
 * ```ts
 * const message = buildMessage(principal, request, admitted, { messageId, acceptedAtMs });
 * acceptMessage(parts, message, 'urgent', (refused) => (refused === null ? answer202(message) : refuse(refused)));
 * ```
 */
export function acceptMessage(parts: AcceptParts, message: Message, use: Use, done: AcceptDone, again = false): void {
  const { capacity } = parts;
  const slot = use === 'urgent' ? urgentUseOf(message.category) : use;
  const refused = capacity.take(message.accountId, slot);
  if (refused !== null) return done(refused, false);
  const answer: AcceptDone = (failed, isRepeat) => {
    capacity.giveBack(message.accountId, slot);
    done(failed, isRepeat);
  };
  if (message.scheduledAtMs !== null) return acceptScheduled(parts, message, message.scheduledAtMs, answer, again);
  const place = parts.queues.placeOf(message.category, message.carrier, message.accountId);
  if ('full' in place) return answer(refusalOfFailure('subject_full'), false);
  publishNow(parts, place.subject, message, answer, again || stoodStill(parts, message));
}

/** Since the message was built: meanwhile another process may have taken its request over. */
function stoodStill({ clock }: AcceptParts, { acceptedAtMs }: Message): boolean {
  return mayMissWindow(clock.nowMs() - acceptedAtMs);
}

/** The shares and reserves that a single message may use. */
export function urgentUseOf(category: Category): Use {
  return category === 'otp' ? 'otp' : 'urgent';
}

/** Publishes to `subject` without taking a slot: for the system's own messages, which no account's share limits. */
export function publishNow(
  parts: PublishParts,
  subject: string,
  message: Message,
  done: AcceptDone,
  again = false,
): void {
  const record = encodeMessage(message, parts.cipher);
  const onAnswer = (result: PublishResult) => {
    if (!result.ok) return done(refusalOfFailure(result.failure), false);
    parts.events.write(acceptedEvent(message), settled);
    done(null, result.duplicate);
  };
  parts.publisher.publish(subject, record, messageRecordId(message), onAnswer, again ? asRepublished : undefined);
  // Publishes an OTP at once, together with whatever is buffered.
  if (message.category === 'otp') parts.publisher.flush();
}

/**
 * Counts the message against its account (scheduled-shares.ts), then publishes it to SCHEDULED under an id that follows
 * from the message's. The record that is released when it is due has such an id too, so a repeat is dropped by one of
 * the two streams. Answers only after the `scheduled` event is durable: nothing writes that event again before the
 * message is due, and a cancel reads it.
 */
function acceptScheduled(
  parts: AcceptParts,
  message: Message,
  dueAtMs: number,
  done: AcceptDone,
  again: boolean,
): void {
  const record = {
    subject: messageSubject(message.category, message.carrier, message.accountId),
    payload: encodeMessage(message, parts.cipher),
    dueAtMs,
    id: messageRecordId(message),
    shardKey: message.messageId,
    cancelable: message.messageId,
  };
  const units = unitsOf(record.payload);
  const { scheduled, clock } = parts;
  scheduled.take(message.accountId, dueAtMs, units, (taken, full) => {
    if (taken === 'unavailable') return done(refusal('overloaded', 'scheduled messages cannot be counted', 1), false);
    if (taken === 'account_full') return done(scheduleFull(full, clock.nowMs()), false);
    let isRepeat = false;
    const answer = onceWithin(clock, limits.http.scheduledMs, (failed) => done(failed, isRepeat));
    const marked = { ...record, again: again || stoodStill(parts, message) };
    publishLater(parts.publisher, marked, clock.nowMs(), (result) => {
      if (!result.ok) {
        if (result.failure !== 'unavailable') scheduled.giveBack(message.accountId, dueAtMs, units);
        return answer(refusalOfFailure(result.failure));
      }
      // The first try has already counted it.
      isRepeat = result.duplicate;
      if (isRepeat) scheduled.giveBack(message.accountId, dueAtMs, units);
      parts.events.write(scheduledEvent(message), (durable) =>
        answer(durable ? null : refusalOfFailure('unavailable')),
      );
    });
  });
}

/** `Retry-After` is the end of the first hour in which something is due; a smaller message may fit earlier. */
function scheduleFull(full: FullShare | undefined, nowMs: number): AcceptanceRefusal {
  const counted = full === undefined ? '' : `: ${full.units} of ${full.perAccount}`;
  const detail =
    `the scheduled messages of this account, with those held for quiet hours, are at its limit${counted} (each KiB of a ` +
    'message counts as one unit; a canceled message counts until the hour in which it was due has passed)';
  const waitS = full === undefined ? 60 : Math.ceil((full.availableAtMs - nowMs) / 1_000);
  return refusal('account_schedule_full', detail, Math.min(Math.max(1, waitS), daySeconds));
}

const daySeconds = 86_400;

/** Answers once, within `limitMs`: the event writer retries while NATS is away, longer than a client waits. */
export function onceWithin(
  clock: Clock,
  limitMs: number,
  done: (refused: AcceptanceRefusal | null) => void,
): (refused: AcceptanceRefusal | null) => void {
  let isAnswered = false;
  const answer = (refused: AcceptanceRefusal | null) => {
    if (isAnswered) return;
    isAnswered = true;
    cancel();
    done(refused);
  };
  const cancel = clock.after(limitMs, () => answer(refusalOfFailure('unavailable')));
  return answer;
}

// Nothing waits for the `accepted` event: see the head of this file.
const settled = () => {};

/** The fields of a Principal that a message keeps. */
type Owner = Pick<Principal, 'id' | 'livemode'> & { readonly account: { readonly accountId: AccountId } };

type Identity = { readonly messageId: MessageId; readonly acceptedAtMs: number };

/** The fields of a request that a message takes over unchanged. */
type Request = Pick<SmsRequest, 'to' | 'from' | 'category' | 'clientReference' | 'validitySeconds'>;

/**
 * Builds the record of a message from its owner, the request and the decision of admission: the only place that does.
 * model/message.ts documents the fields.
 */
export function buildMessage(
  owner: Owner,
  request: Request,
  admitted: Admitted,
  { messageId, acceptedAtMs }: Identity,
): Message {
  const { category, validitySeconds } = request;
  const usualMs = category === 'otp' ? limits.message.validityOtpMs : limits.message.validityDefaultMs;
  const validityMs = validitySeconds === null ? usualMs : validitySeconds * 1_000;
  const plan = admitted.route.planFor(messageId);
  return {
    messageId,
    hop: 0,
    delays: 0,
    accountId: owner.account.accountId,
    keyId: owner.id,
    channel: 'sms',
    category,
    carrier: plan.carrier,
    plan: plan.others,
    sender: request.from,
    senderTonNpi: null,
    recipient: request.to,
    recipientTonNpi: null,
    body: { text: admitted.text },
    encoding: admitted.encoding,
    shift: admitted.shift,
    segments: admitted.segments,
    registeredDelivery: 1,
    acceptedAtMs,
    // Validity counts from the earliest time at which the message may be sent.
    validUntilMs: (admitted.notBeforeMs ?? acceptedAtMs) + validityMs,
    scheduledAtMs: admitted.notBeforeMs,
    clientReference: request.clientReference,
    campaignId: null,
    variantId: null,
    templateId: admitted.templateId,
    livemode: owner.livemode,
    priceMicros: null,
    priceVersion: null,
    trace: admitted.trace.length === 0 ? plan.trace : [...plan.trace, ...admitted.trace],
    resends: 0,
    ...(admitted.callback === null ? {} : { callback: admitted.callback }),
  };
}
