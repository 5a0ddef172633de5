// A delivery event: one change in the life of one message or of one of its segments. Events are the only record of a
// message's life; every view of it, live or in a report, is a fold over them (fold.ts).
import { type EventId, eventIdOf } from './ids.ts';
import type { Keyword } from './keyword.ts';
import type { Message } from './message.ts';

/**
 * intent: durable before the submit_sm is written, so that a crash leads to `unknown` and not to a second SMS; it
 * implies `accepted`, which may not have been published. deferred and rerouted change no status; they explain a delay.
 * resent: it is unknown whether a carrier has the message, and its account's policy sends it once more. hedged: a
 * one-time password waits too long for its carrier, and a second copy goes to the next one (copies.ts). refused: a
 * request that a gate refused at the ingress; it never was a message and has an id of its own. received: a message from
 * a subscriber, with an id of its own. opted_out, opted_in: a subscriber's decision by keyword, one event for each
 * account concerned. In the last three `sender` is still the client's number and `recipient` the subscriber's, so that
 * the same two columns find both directions of a conversation.
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
  'hedged',
] as const;
export type EventKind = (typeof eventKinds)[number];

/** What an event says of its message, as the message has it. */
type OfMessage = Pick<Message, 'carrier' | 'hop' | 'segments' | 'category' | 'sender' | 'recipient' | 'encoding'> &
  Pick<Message, 'livemode' | 'clientReference' | 'campaignId' | 'variantId' | 'templateId'> &
  Pick<Message, 'acceptedAtMs' | 'validUntilMs' | 'scheduledAtMs' | 'callback'>;

export type DeliveryEvent = OfMessage & {
  readonly eventId: EventId;
  readonly kind: EventKind;
  /** Wall time of the event, milliseconds since the epoch. */
  readonly atMs: number;
  readonly messageId: string;
  readonly accountId: string;
  readonly keyId: string;
  /**
   * Distinguishes submits of the same message on one hop: releases from LATER × 16, plus the attempts since the last
   * one (actors/carrier/in-flight/attempt.ts).
   */
  readonly attempt: number;
  /** 1..segments, or 0 when the event is about the whole message. */
  readonly segment: number;
  readonly carrierMessageId: string | null;
  /** A code of docs/errors.md or a carrier's error as text; null without an error. */
  readonly error: string | null;
  /** The incarnation of the actor thread that wrote it, where several nodes share the carrier; 0 on a single node. */
  readonly epoch: number;
  /**
   * What the carrier already had of the message at this event, for readers without the earlier events: bits 1..n are
   * the submitted segments, bit 0 marks the one resend. Absent: nothing.
   */
  readonly progress?: number;
  /** Only of messages from subscribers. */
  readonly inbound?: InboundFacts;
};

/** The fields that only events of subscribers' messages have. */
export type InboundFacts = {
  /** The sealed body, bound to the message's id (model/records/body-cipher); null where it is not published. */
  readonly sealedBody: Uint8Array | null;
  /** Whether the account's policy lets the event store keep the body. */
  readonly keepBody: boolean;
  readonly keyword: Keyword | null;
  /** Parts received; `segments` is the expected number. */
  readonly parts: number;
  /** Of an opt-out or opt-in: the id of the message that requested it; otherwise the event's own message id. */
  readonly receivedId: string;
};

/** The fields that differ between the events of one message. */
export type EventDraft = Pick<DeliveryEvent, 'kind' | 'atMs'> &
  Partial<Pick<DeliveryEvent, 'attempt' | 'segment' | 'carrierMessageId' | 'error' | 'epoch' | 'progress'>> & {
    /** Distinguishes two events that are otherwise equal (two deferrals, for example). */
    readonly detail?: string;
  };

export type EventContext = Omit<DeliveryEvent, 'eventId' | keyof EventDraft>;

/** Builds an event. Its id follows from what happened, never from when or by whom it is published. */
export function deliveryEvent(context: EventContext, draft: EventDraft): DeliveryEvent {
  const { kind, attempt = 0, segment = 0, detail = '', progress = 0 } = draft;
  const event: Mutable<DeliveryEvent> = {
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
  if (progress !== 0) event.progress = progress;
  if (context.callback !== undefined) event.callback = context.callback;
  return event;
}

type Mutable<T> = { -readonly [Name in keyof T]: T[Name] };

/** A message is itself the context of its events. */
export function eventOfMessage(message: Message, draft: EventDraft): DeliveryEvent {
  return deliveryEvent(message, draft);
}

/** The `accepted` event of a message: the same id from the ingress and from an event of the carrier actor. */
export function acceptedEvent(context: EventContext): DeliveryEvent {
  // A scheduled message is accepted for sending when it is due.
  const draft = { kind: 'accepted', atMs: context.scheduledAtMs ?? context.acceptedAtMs } as const;
  // The carrier is not part of the identity: a rerouted message was accepted only once.
  return { ...deliveryEvent({ ...context, carrier: '' }, draft), carrier: context.carrier, hop: 0 };
}

/** The `scheduled` event of a message: the same id whichever process publishes it. The message has no carrier yet. */
export function scheduledEvent(context: EventContext): DeliveryEvent {
  return deliveryEvent({ ...context, carrier: '', hop: 0 }, { kind: 'scheduled', atMs: context.acceptedAtMs });
}

/** The `canceled` event of a scheduled message: published by the ingress, and again when the message is due. */
export function canceledEvent(context: EventContext, atMs: number): DeliveryEvent {
  return deliveryEvent({ ...context, carrier: '', hop: 0 }, { kind: 'canceled', atMs });
}

/**
 * An event with the `accepted` event that it implies: every event of the carrier actor that can be a message's first
 * one implies it, because the ingress may have died between the acked publish and its own event.
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
    // Only a message that is not due yet can be canceled: it was never accepted for sending.
    case 'canceled':
    // Its intent came before.
    case 'hedged':
      return [event];
    default:
      return [acceptedEvent(event), event];
  }
}
