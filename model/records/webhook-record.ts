// One event on its way to one webhook endpoint, as octets in WEBHOOK_LOG: a msgpack array with frozen
// positions, as in message-record.ts. A delivery event is carried as it is in EVENTS, its text still sealed; its JSON is
// made when it is sent. Events of other parts (one-time passwords, clicks, the delivery itself) carry their JSON.
import type { DeliveryEvent } from '../delivery-event.ts';
import type { EventId, WebhookEndpointId } from '../ids.ts';
import { eventOfPositions, positionsOfEvent } from './event-record.ts';
import { decoder, numberAt, packr, textAt, textOrNull } from './record-positions.ts';

const version = 1;

/** What is sent: a delivery event, or the `data` of an event of another part. */
export type WebhookContent =
  | { readonly event: DeliveryEvent }
  | { readonly type: string; readonly atMs: number; readonly data: Readonly<Record<string, unknown>> };

export type WebhookRecord = {
  readonly eventId: EventId;
  readonly endpointId: WebhookEndpointId;
  /** The message's callback_url; null: the endpoint's own URL. */
  readonly url: string | null;
  /** Its place among the events of its endpoint: greater for what is to be sent later. */
  readonly sequence: number;
  readonly content: WebhookContent;
  /** How often it was tried, and when it is tried again (milliseconds since the epoch). Not tried yet: 0, 0. */
  readonly tries: number;
  readonly dueAtMs: number;
  /** The batch in which it was sent, so that the same one is sent again; null: none. */
  readonly group: WebhookGroup | null;
};

/** A batch: its webhook-id and how many events it has. */
export type WebhookGroup = { readonly id: string; readonly size: number };

const ofEvent = 0;
const ofOther = 1;

export function encodeWebhook(record: WebhookRecord): Buffer {
  const { content } = record;
  const carried =
    'event' in content
      ? [ofEvent, positionsOfEvent(content.event)]
      : [ofOther, [content.type, content.atMs, JSON.stringify(content.data)]];
  return packr.pack([
    version,
    record.eventId,
    record.endpointId,
    record.url,
    record.sequence,
    ...carried,
    record.tries,
    record.dueAtMs,
    record.group === null ? null : [record.group.id, record.group.size],
  ]);
}

/** Throws RejectMessage('poison_record') when the octets are no record this version can read. */
export const decodeWebhook = decoder(
  'webhook record',
  version,
  (at): WebhookRecord => ({
    eventId: textAt(at[1]) as EventId,
    endpointId: textAt(at[2]) as WebhookEndpointId,
    url: textOrNull(at[3]),
    sequence: numberAt(at[4]),
    content: contentOf(at[5], at[6] as readonly unknown[]),
    tries: numberAt(at[7]),
    dueAtMs: numberAt(at[8]),
    group: groupOf(at[9]),
  }),
);

function contentOf(kind: unknown, carried: readonly unknown[]): WebhookContent {
  if (kind === ofEvent) return { event: eventOfPositions(carried) };
  if (kind !== ofOther) throw new Error(`content of the unknown kind ${String(kind)}`);
  return {
    type: textAt(carried[0]),
    atMs: numberAt(carried[1]),
    data: JSON.parse(textAt(carried[2])) as Record<string, unknown>,
  };
}

function groupOf(position: unknown): WebhookGroup | null {
  return Array.isArray(position) ? { id: textAt(position[0]), size: numberAt(position[1]) } : null;
}

/** Of the Nats-Msg-Id of a retry: the same event for the same endpoint is stored once for each try. */
export function webhookRecordId({ eventId, endpointId }: Pick<WebhookRecord, 'eventId' | 'endpointId'>): string {
  return `${eventId}.${endpointId}`;
}
