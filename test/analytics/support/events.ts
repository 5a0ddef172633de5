// Makes the events of messages as the product publishes them, for tests that fill the stream themselves.
import { systemClock } from '../../../platform/clock.ts';
import { type DeliveryEvent, type EventContext, acceptedEvent, deliveryEvent } from '../../../model/delivery-event.ts';
import { newAccountId, newMessageId } from '../../../model/ids.ts';

export const account = newAccountId(1_700_000_000_000);

export function contextOf(changes: Partial<EventContext> = {}): EventContext {
  const acceptedAtMs = changes.acceptedAtMs ?? systemClock.nowMs();
  return {
    messageId: newMessageId(acceptedAtMs),
    accountId: account,
    keyId: 'key_1',
    carrier: 'sandbox',
    hop: 0,
    segments: 1,
    category: 'transactional',
    sender: 'BRAND',
    recipient: '+8801712345678',
    encoding: 'gsm7',
    livemode: true,
    clientReference: null,
    campaignId: null,
    variantId: null,
    templateId: null,
    acceptedAtMs,
    validUntilMs: acceptedAtMs + 3_600_000,
    scheduledAtMs: null,
    ...changes,
  };
}

/** The whole life of a delivered message: accepted, intent, submitted, delivered. Three of them become rows. */
export function lifeOf(context: EventContext): readonly DeliveryEvent[] {
  const at = context.acceptedAtMs;
  return [
    acceptedEvent(context),
    deliveryEvent(context, { kind: 'intent', atMs: at + 1, attempt: 1, segment: 1 }),
    deliveryEvent(context, { kind: 'submitted', atMs: at + 2, attempt: 1, segment: 1, carrierMessageId: 'c1' }),
    deliveryEvent(context, { kind: 'delivered', atMs: at + 3, attempt: 1, segment: 1, carrierMessageId: 'c1' }),
  ];
}
