// The events of subscribers' messages. Each is complete by itself, like a refused request: it was never accepted for
// sending and has no carrier plan. `sender` is the client's number, `recipient` the subscriber's.
import { type DeliveryEvent, type InboundFacts, deliveryEvent } from './delivery-event.ts';
import type { Keyword } from './keyword.ts';
import type { Encoding } from './message.ts';

export type InboundOrigin = {
  readonly messageId: string;
  /** '' when no account has the number. */
  readonly accountId: string;
  readonly carrier: string;
  /** The client's number as registered. */
  readonly clientNumber: string;
  /** E.164 where the carrier's form allows it. */
  readonly subscriber: string;
  readonly livemode: boolean;
  readonly receivedAtMs: number;
};

/** A message from a subscriber, with its encoding and segments as received; incomplete with fewer parts. */
export function receivedEvent(
  origin: InboundOrigin,
  { encoding, segments, inbound }: { encoding: Encoding; segments: number; inbound: Omit<InboundFacts, 'receivedId'> },
): DeliveryEvent {
  const error = inbound.parts < segments ? 'incomplete' : null;
  const draft = { kind: 'received', atMs: origin.receivedAtMs, error } as const;
  const event = deliveryEvent(contextOf(origin, encoding, segments), draft);
  return { ...event, inbound: { ...inbound, receivedId: origin.messageId } };
}

/** A subscriber's decision for one account. `clientNumber` '' means all its senders. */
export function optedEvent(
  origin: InboundOrigin,
  keyword: Keyword & ('stop' | 'start'),
  receivedId: string,
): DeliveryEvent {
  const kind = keyword === 'stop' ? 'opted_out' : 'opted_in';
  const event = deliveryEvent(contextOf(origin, 'gsm7', 0), { kind, atMs: origin.receivedAtMs });
  return { ...event, inbound: { sealedBody: null, keepBody: false, keyword, parts: 0, receivedId } };
}

function contextOf(origin: InboundOrigin, encoding: Encoding, segments: number) {
  return {
    messageId: origin.messageId,
    accountId: origin.accountId,
    keyId: '',
    carrier: origin.carrier,
    hop: 0,
    segments,
    category: 'transactional',
    sender: origin.clientNumber,
    recipient: origin.subscriber,
    encoding,
    livemode: origin.livemode,
    clientReference: null,
    campaignId: null,
    variantId: null,
    templateId: null,
    acceptedAtMs: origin.receivedAtMs,
    validUntilMs: origin.receivedAtMs,
    scheduledAtMs: null,
  } as const;
}
