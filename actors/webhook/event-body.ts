// The JSON body of a webhook request: `{ type, timestamp, data }` of the Standard Webhooks specification. `data` has the
// names of GET /v1/sms/{id}, and `sequence`, by which a receiver puts events in order that arrive in another one.
import { type DeliveryEvent, type EventKind } from '../../model/delivery-event.ts';
import type { BodyCipher } from '../../model/records/body-cipher.ts';
import { shownBody } from '../../model/records/message-record.ts';
import type { WebhookContent, WebhookRecord } from '../../model/records/webhook-record.ts';
import { type WebhookEventType, webhookBatchType, webhookTypeOfKind } from '../../model/webhook-endpoint.ts';
import { assert } from '../../platform/assert.ts';
import { isoTime } from '../../platform/iso-time.ts';

/** The type that its receivers see. */
export function typeOf(content: WebhookContent): string {
  return 'event' in content ? typeOfKind(content.event.kind) : content.type;
}

function typeOfKind(kind: EventKind): WebhookEventType {
  const type = webhookTypeOfKind[kind];
  assert(type !== undefined, 'an event was published that clients do not get');
  return type;
}

/** Steps in the life of a message that may happen in one millisecond. */
const steps = 16;
const stepOf: { readonly [Kind in EventKind]?: number } = { submitted: 1, unknown: 2 };
const endStep = 3;

/** Greater for what happened later; the same in every repeat and replay. */
function sequenceOf(content: WebhookContent): number {
  if (!('event' in content)) return content.atMs * steps;
  const { atMs, kind } = content.event;
  return Math.floor(atMs) * steps + (stepOf[kind] ?? endStep);
}

export function eventBody(record: Pick<WebhookRecord, 'content'>, cipher: BodyCipher): string {
  return JSON.stringify(shapeOf(record, cipher));
}

/** Several events in one request; each has its own id, the `webhook-id` it would have had alone. */
export function batchBody(records: readonly Pick<WebhookRecord, 'eventId' | 'content'>[], cipher: BodyCipher): string {
  const events = records.map((record) => ({ id: record.eventId, ...shapeOf(record, cipher) }));
  const timestamp = events.at(-1)?.timestamp;
  return JSON.stringify({ type: webhookBatchType, timestamp, data: { object: 'webhook_batch', events } });
}

function shapeOf({ content }: Pick<WebhookRecord, 'content'>, cipher: BodyCipher) {
  const [type, atMs, data] =
    'event' in content
      ? [typeOfKind(content.event.kind), content.event.atMs, dataOf(content.event, cipher)]
      : [content.type, content.atMs, content.data];
  return { type, timestamp: isoTime(atMs), data: { ...data, sequence: sequenceOf(content) } };
}

function dataOf(event: DeliveryEvent, cipher: BodyCipher): Record<string, unknown> {
  if (event.kind === 'received') return receivedData(event, cipher);
  if (event.kind === 'opted_out') return decisionData(event);
  return {
    id: event.messageId,
    object: 'sms',
    direction: 'outbound',
    status: event.kind,
    to: event.recipient,
    from: event.sender,
    category: event.category,
    encoding: event.encoding,
    segments: event.segments,
    livemode: event.livemode,
    client_reference: event.clientReference,
    created_at: isoTime(event.acceptedAtMs),
    ...(event.scheduledAtMs === null ? {} : { scheduled_at: isoTime(event.scheduledAtMs) }),
    carrier: event.carrier === '' ? null : event.carrier,
    error: event.error,
    campaign_id: event.campaignId,
    template_id: event.templateId,
  };
}

/** As the account knows the message: `to` is its own number. */
function receivedData(event: DeliveryEvent, cipher: BodyCipher): Record<string, unknown> {
  const { inbound } = event;
  return {
    id: event.messageId,
    object: 'sms',
    direction: 'inbound',
    status: 'received',
    to: event.sender,
    from: event.recipient,
    ...shownBody(inbound?.sealedBody ?? null, event.messageId, cipher),
    keyword: inbound?.keyword ?? null,
    encoding: event.encoding,
    segments: event.segments,
    segments_received: inbound?.parts ?? event.segments,
    livemode: event.livemode,
    carrier: event.carrier,
    created_at: isoTime(event.acceptedAtMs),
  };
}

function decisionData(event: DeliveryEvent): Record<string, unknown> {
  return {
    object: 'opt_out',
    /** The subscriber, and the account's number they wrote to; null: all of its senders. */
    number: event.recipient,
    sender: event.sender === '' ? null : event.sender,
    received_id: event.inbound?.receivedId ?? event.messageId,
    livemode: event.livemode,
    created_at: isoTime(event.atMs),
  };
}
