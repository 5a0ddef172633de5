// The step in which a request that passed the gates becomes an accepted message: builds the message, publishes it to
// its queue, and answers when JetStream has acknowledged it. The Nats-Msg-Id is the message id and its hop, so a
// repeated publish stores nothing new. The `accepted` event follows without being waited for: if the process dies
// before it, readers derive it from the carrier actor's intent, under the same id (model/delivery-event.ts).
import type { Principal } from '../../acceptance/principal.ts';
import type { AccountQueues } from '../../cluster/bus/overflow-heartbeat.ts';
import { asRepublished } from '../../cluster/bus/republished.ts';
import type { BodyCipher } from '../../model/records/body-cipher.ts';
import type { EventWriter } from '../../cluster/bus/event-writer.ts';
import type { ClusterClock } from '../../cluster/bus/cluster-clock.ts';
import { publishLater } from '../../cluster/bus/later.ts';
import { encodeMessage, messageRecordId } from '../../model/records/message-record.ts';
import type { PublishFailure, PublishResult, Publisher } from '../../cluster/bus/publisher.ts';
import { type FullShare, type ScheduledShares, unitsOf } from '../../cluster/bus/scheduled-shares.ts';
import { laneSubject, messageSubject, waitFilter } from '../../cluster/bus/subjects.ts';
import { acceptedEvent, scheduledEvent } from '../../model/delivery-event.ts';
import type { MessageId } from '../../model/ids.ts';
import type { Category, Message } from '../../model/message.ts';
import type { Clock } from '../../platform/clock.ts';
import { limits } from '../../platform/limits.ts';
import type { Use } from '../../platform/shared-bound.ts';
import type { Admitted, SmsRequest } from '../../policy/contract.ts';
import { type Problem, problem } from '../problem.ts';
import type { EventSpace } from './event-space.ts';
import { type Places, refuseTaken } from './places.ts';

export type AcceptParts = {
  readonly publisher: Publisher;
  readonly queues: Pick<AccountQueues, 'placeOf'>;
  readonly scheduled: Pick<ScheduledShares, 'take' | 'giveBack'>;
  readonly events: EventWriter;
  readonly cipher: BodyCipher;
  readonly eventSpace: EventSpace;
  readonly places: Places;
  readonly clock: ClusterClock;
};

export type Identity = { readonly messageId: MessageId; readonly acceptedAtMs: number };

export function messageOfRequest(
  principal: Principal,
  request: SmsRequest,
  admitted: Admitted,
  identity: Identity,
): Message {
  const { category, validitySeconds } = request;
  const usualMs = category === 'otp' ? limits.message.validityOtpMs : limits.message.validityDefaultMs;
  const validityMs = validitySeconds === null ? usualMs : validitySeconds * 1_000;
  const plan = admitted.route.planFor(identity.messageId);
  return {
    messageId: identity.messageId,
    hop: 0,
    delays: 0,
    accountId: principal.account.accountId,
    keyId: principal.id,
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
    acceptedAtMs: identity.acceptedAtMs,
    // The validity counts from the time at which the message may go out.
    validUntilMs: (admitted.notBeforeMs ?? identity.acceptedAtMs) + validityMs,
    scheduledAtMs: admitted.notBeforeMs,
    clientReference: request.clientReference,
    campaignId: null,
    variantId: null,
    templateId: admitted.templateId,
    livemode: principal.livemode,
    priceMicros: null,
    priceVersion: null,
    trace: admitted.trace.length === 0 ? plan.trace : [...plan.trace, ...admitted.trace],
    resends: 0,
  };
}

export const clockWrong = (): Problem =>
  problem(503, 'clock_wrong', 'the clock of this machine is not that of the others', [], 5);

/** Whether there is capacity for a message. Checked before anything is written. */
export function refuseForRoom(parts: AcceptParts): Problem | null {
  if (!parts.clock.agrees) return clockWrong();
  if (parts.eventSpace.isFull) return problem(503, 'queue_full', 'the event stream is nearly full', [], 5);
  if (!parts.events.hasCapacity)
    return problem(503, 'overloaded', 'the events of accepted messages wait for the bus', [], 1);
  return null;
}

/** Whether the stream it goes to may have one more publish in flight: each stream has a bound of its own. */
export function hasCapacityInStream(
  parts: Pick<AcceptParts, 'publisher'>,
  category: Category,
  scheduledAtMs: number | null,
): boolean {
  return parts.publisher.hasCapacity(scheduledAtMs === null ? laneSubject(category) : waitFilter('scheduled'));
}

/**
 * `done` gets null when the message is durable, else the problem to answer with. `use`: a single message is 'otp'
 * whatever its category, an item of a batch is 'ordinary' and leaves capacity for single messages. `again`: an earlier
 * request under the same key may have published it, so long ago that the stream would not know.
 */
export function acceptMessage(
  parts: AcceptParts,
  message: Message,
  use: Use,
  done: (problem: Problem | null) => void,
  again = false,
): void {
  const { publishes } = parts.places;
  const refusal = refuseTaken(publishes, publishes.take(message.accountId, use));
  if (refusal !== null) return done(refusal);
  const answer = (failed: Problem | null) => {
    publishes.giveBack(message.accountId, use);
    done(failed);
  };
  publishMessage(parts, message, answer, again);
}

function publishMessage(
  parts: AcceptParts,
  message: Message,
  done: (problem: Problem | null) => void,
  again: boolean,
): void {
  if (message.scheduledAtMs !== null) return scheduleMessage(parts, message, message.scheduledAtMs, done, again);
  const place = parts.queues.placeOf(message.category, message.carrier, message.accountId);
  if ('full' in place) return done(problemOfFailure('subject_full'));
  const record = encodeMessage(message, parts.cipher);
  const onAnswer = (result: PublishResult) => {
    if (!result.ok) return done(problemOfFailure(result.failure));
    parts.events.write(acceptedEvent(message), settled);
    done(null);
  };
  parts.publisher.publish(place.subject, record, messageRecordId(message), onAnswer, again ? asRepublished : undefined);
  // An OTP is written at once, together with what was gathered before it.
  if (message.category === 'otp') parts.publisher.flush();
}

/**
 * Counted first (scheduled-shares.ts). It waits in SCHEDULED under a fixed name, and its release has a fixed id: a
 * repeat is dropped here or there. The answer waits for the `scheduled` event, because nobody publishes that again before
 * its time, and who cancels asks for it.
 */
function scheduleMessage(
  parts: AcceptParts,
  message: Message,
  dueAtMs: number,
  done: (problem: Problem | null) => void,
  again: boolean,
): void {
  const record = {
    subject: messageSubject(message.category, message.carrier, message.accountId),
    payload: encodeMessage(message, parts.cipher),
    dueAtMs,
    id: messageRecordId(message),
    shardKey: message.messageId,
    cancelable: message.messageId,
    again,
  };
  const units = unitsOf(record.payload);
  const { scheduled, clock } = parts;
  scheduled.take(message.accountId, dueAtMs, units, (taken, full) => {
    if (taken === 'unavailable') return done(problem(503, 'overloaded', 'scheduled messages cannot be counted', [], 1));
    if (taken === 'account_full') return done(scheduleFull(full, clock.nowMs()));
    const answer = onceWithin(clock, limits.http.scheduledMs, done);
    publishLater(parts.publisher, record, clock.nowMs(), (result) => {
      // The first try has counted it.
      if (result.ok && result.duplicate) scheduled.giveBack(message.accountId, dueAtMs, units);
      if (!result.ok) {
        if (result.failure !== 'unavailable') scheduled.giveBack(message.accountId, dueAtMs, units);
        return answer(problemOfFailure(result.failure));
      }
      parts.events.write(scheduledEvent(message), (durable) =>
        answer(durable ? null : problemOfFailure('unavailable')),
      );
    });
  });
}

/** Capacity is free again when the first hour with something due is over; a smaller message may fit before. */
function scheduleFull(full: FullShare | undefined, nowMs: number): Problem {
  const counted = full === undefined ? '' : `: ${full.units} of ${full.perAccount}`;
  const detail =
    `this account has as much waiting for its time, or for the end of quiet hours, as it may${counted} (each KiB of a ` +
    'message counts as one; canceled ones count until their hour is over)';
  const waitS = full === undefined ? 60 : Math.ceil((full.availableAtMs - nowMs) / 1_000);
  return problem(429, 'account_schedule_full', detail, [], Math.min(Math.max(1, waitS), daySeconds));
}

const daySeconds = 86_400;

/** The writer of events keeps trying while the bus is away: its answer may come too late for a client, and twice. */
export function onceWithin(
  clock: Clock,
  limitMs: number,
  done: (problem: Problem | null) => void,
): (problem: Problem | null) => void {
  let isAnswered = false;
  const answer = (problem: Problem | null) => {
    if (isAnswered) return;
    isAnswered = true;
    cancel();
    done(problem);
  };
  const cancel = clock.after(limitMs, () => answer(problemOfFailure('unavailable')));
  return answer;
}

// Nobody waits for the `accepted` event: see the head of this file.
const settled = () => {};

export function problemOfFailure(failure: PublishFailure): Problem {
  switch (failure) {
    case 'full':
      return problem(503, 'queue_full', 'the queue of this category is full', [], 5);
    case 'subject_full':
      return problem(429, 'account_queue_full', 'too many messages of this account wait for this carrier', [], 5);
    case 'busy':
      return problem(503, 'overloaded', 'too many messages are being accepted', [], 1);
    default:
      return problem(503, 'overloaded', 'the message queue did not answer: nothing was accepted for certain', [], 1);
  }
}
