// A delivery event: one thing that became of one message (or one of its segments). Events are the only
// record of a message's life; every view of it, live or in a report, is a fold over them (fold.ts).
import { type EventId, eventIdOf } from './ids.ts';
import type { Keyword } from './keyword.ts';
import type { Category, Encoding, Message } from './message.ts';

/**
 * intent: written before a submit_sm goes out, so that a crash leaves `unknown` and not a second SMS. It also stands
 * for `accepted`, published again. deferred and rerouted change no status; they explain the time that passed. resent:
 * whether a carrier has the message nobody knows, and by its account's policy it is sent once more. refused: a request
 * that a gate refused at the ingress. It never was a message, so it stands alone under an id of its own. received: a
 * message from a subscriber; it stands alone too. opted_out, opted_in: what a subscriber decided with a keyword, one
 * record for each account it holds for. In these three `sender` is still the client's number and `recipient` the
 * subscriber's, so that both directions of a conversation are found by the same two columns.
 */
export const eventKinds = [
  'accepted',
  'scheduled',
  'intent',
  'submitted',
  'delivered',
  'undelivered',
  'expired',
  'rejected',
  'unknown',
  'failed',
  'blocked',
  'canceled',
  'deferred',
  'rerouted',
  'refused',
  'resent',
  'received',
  'opted_out',
  'opted_in',
] as const;
export type EventKind = (typeof eventKinds)[number];

export type DeliveryEvent = {
  readonly eventId: EventId;
  readonly kind: EventKind;
  /** When it happened, wall time in milliseconds since the epoch. */
  readonly atMs: number;
  readonly messageId: string;
  readonly accountId: string;
  readonly keyId: string;
  readonly carrier: string;
  readonly hop: number;
  /**
   * Tells submits of the same message on one hop apart: how often LATER released it times 16, plus the tries since
   * (actors/carrier/in-flight/attempt.ts).
   */
  readonly attempt: number;
  /** 1..segments, or 0 when the event is about the whole message. */
  readonly segment: number;
  readonly segments: number;
  readonly carrierMessageId: string | null;
  /** A code of docs/errors.md or a carrier's error as text; null when nothing went wrong. */
  readonly error: string | null;
  /** Which life of an actor thread wrote it, where several nodes share the carrier; 0 where nobody else can be. */
  readonly epoch: number;
  readonly category: Category;
  readonly sender: string;
  readonly recipient: string;
  readonly encoding: Encoding;
  readonly livemode: boolean;
  readonly clientReference: string | null;
  readonly campaignId: string | null;
  readonly variantId: string | null;
  readonly templateId: string | null;
  readonly acceptedAtMs: number;
  readonly validUntilMs: number;
  /** When the message was to go out; null: at once. */
  readonly scheduledAtMs: number | null;
  /**
   * What the carrier already had of the message when this was written, for a reader who does not know what comes
   * before: bits 1..n are segments it has taken, bit 0 says that this is the one resend. Absent: nothing.
   */
  readonly progress?: number;
  /** Only of what came from a subscriber. */
  readonly inbound?: InboundFacts;
};

/** What an event of a subscriber's message has that no other has. */
export type InboundFacts = {
  /** The sealed body, bound to the message's id (model/records/body-cipher); null where it is not published. */
  readonly sealedBody: Uint8Array | null;
  /** Whether the account's policy lets the event store keep the body. */
  readonly keepBody: boolean;
  readonly keyword: Keyword | null;
  /** Parts that came; `segments` says how many there are. */
  readonly parts: number;
  /** Of an opt-out: the message that asked for it. Else its own id. */
  readonly receivedId: string;
};

/** What differs between the events of one message. */
export type EventDraft = {
  readonly kind: EventKind;
  readonly atMs: number;
  readonly attempt?: number;
  readonly segment?: number;
  readonly carrierMessageId?: string | null;
  readonly error?: string | null;
  readonly epoch?: number;
  readonly progress?: number;
  /** Distinguishes two events that are otherwise alike (a second deferral, say). */
  readonly detail?: string;
};

export type EventContext = Omit<
  DeliveryEvent,
  'eventId' | 'kind' | 'atMs' | 'attempt' | 'segment' | 'carrierMessageId' | 'error' | 'epoch' | 'progress'
>;

/** The event's identity follows from what happened, never from when or by whom it is published. */
export function deliveryEvent(context: EventContext, draft: EventDraft): DeliveryEvent {
  const { kind, attempt = 0, segment = 0, detail = '', progress = 0 } = draft;
  const event: DeliveryEvent = {
    eventId: eventIdOf({ messageId: context.messageId, kind, attempt, carrier: context.carrier, segment, detail }),
    kind,
    atMs: draft.atMs,
    messageId: context.messageId,
    accountId: context.accountId,
    keyId: context.keyId,
    carrier: context.carrier,
    hop: context.hop,
    attempt,
    segment,
    segments: context.segments,
    carrierMessageId: draft.carrierMessageId ?? null,
    error: draft.error ?? null,
    epoch: draft.epoch ?? 0,
    category: context.category,
    sender: context.sender,
    recipient: context.recipient,
    encoding: context.encoding,
    livemode: context.livemode,
    clientReference: context.clientReference,
    campaignId: context.campaignId,
    variantId: context.variantId,
    templateId: context.templateId,
    acceptedAtMs: context.acceptedAtMs,
    validUntilMs: context.validUntilMs,
    scheduledAtMs: context.scheduledAtMs,
  };
  return progress === 0 ? event : { ...event, progress };
}

/** A message is itself the context of its events. */
export function eventOfMessage(message: Message, draft: EventDraft): DeliveryEvent {
  return deliveryEvent(message, draft);
}

/**
 * The `accepted` of a message: the same id whether the ingress publishes it or an event of the carrier actor stands for
 * it.
 */
export function acceptedEvent(context: EventContext): DeliveryEvent {
  // The carrier is left out of the identity: a rerouted message was still accepted only once.
  return {
    ...deliveryEvent(
      { ...context, carrier: '' },
      // One that was scheduled is accepted for sending when its time comes.
      { kind: 'accepted', atMs: context.scheduledAtMs ?? context.acceptedAtMs },
    ),
    carrier: context.carrier,
    hop: 0,
  };
}

/** The `scheduled` of a message: the same id whoever publishes it. It has not been given to a carrier. */
export function scheduledEvent(context: EventContext): DeliveryEvent {
  return deliveryEvent({ ...context, carrier: '', hop: 0 }, { kind: 'scheduled', atMs: context.acceptedAtMs });
}

/** The `canceled` of a message that waited for its time: published by the ingress, and again when its time comes. */
export function canceledEvent(context: EventContext, atMs: number): DeliveryEvent {
  return deliveryEvent({ ...context, carrier: '', hop: 0 }, { kind: 'canceled', atMs });
}

/**
 * The events a record stands for. An event of the carrier actor that can be the first sign of a message also
 * stands for its `accepted`: the ingress may have died between the acked publish and its own event.
 */
export function expandEvent(event: DeliveryEvent): readonly DeliveryEvent[] {
  switch (event.kind) {
    case 'intent':
      return [acceptedEvent(event)];
    case 'accepted':
    case 'scheduled':
    case 'submitted':
    case 'delivered':
    case 'undelivered':
    case 'refused':
    case 'received':
    case 'opted_out':
    case 'opted_in':
    // Only what still waited for its time can be canceled: it was never accepted for sending.
    case 'canceled':
      return [event];
    default:
      return [acceptedEvent(event), event];
  }
}
