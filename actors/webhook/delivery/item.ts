// One event that an endpoint is to get, and where it came from: what is to happen to its record when it was delivered,
// or when it must wait elsewhere. And what one request carries: an event, or several of a batch.
import { batchIdOf } from '../../../model/ids.ts';
import type { WebhookGroup, WebhookRecord } from '../../../model/records/webhook-record.ts';
import { assert } from '../../../platform/assert.ts';
import type { Cancel } from '../../../platform/clock.ts';

export type Item = {
  readonly record: WebhookRecord;
  /** queue: in memory alone · line: the endpoint's line in WEBHOOK_LOG · retry: an event there with a time of its own. */
  from: 'queue' | 'line' | 'retry';
  /** Of its record in WEBHOOK_LOG; 0 for one from the queue. */
  seq: number;
  /** Its record is not needed any more: it was delivered, given up, or stored elsewhere. */
  settle: () => void;
  /** Monotonic. */
  readonly queuedAtMs: number;
  /** Tries in this process; `record.tries` are those before. */
  tries: number;
  /** Its record is on its way to the line. */
  isMoving: boolean;
  /** Whatever its request still says is not for it. */
  isOver: boolean;
};

export function newItem(of: Pick<Item, 'record' | 'from' | 'seq' | 'settle' | 'queuedAtMs'>): Item {
  return { ...of, tries: 0, isMoving: false, isOver: false };
}

export const triesOf = ({ record, tries }: Item): number => record.tries + tries;

/** Events of one message have one chain; others are chains of their own. */
export function chainOf({ content, eventId }: WebhookRecord): string {
  return 'event' in content ? content.event.messageId : eventId;
}

/** One request has one URL; events of a batch that was sent before stay together. */
export function goesWith(first: WebhookRecord, next: WebhookRecord): boolean {
  return first.url === next.url && first.group?.id === next.group?.id;
}

/** What one request carries. */
export type Shipment = {
  /** At least one; of a batch in their order. */
  readonly items: readonly Item[];
  /** The webhook-id: that of the event, or of the batch. */
  readonly webhookId: string;
  readonly isBatch: boolean;
  /** Ends its request; null while there is none. */
  cancel: Cancel | null;
};

export function shipmentOf(item: Item): Shipment {
  return { items: [item], webhookId: item.record.eventId, isBatch: false, cancel: null };
}

export const bySequence = (one: Item, other: Item): number => one.record.sequence - other.record.sequence;

/** The same events make the same batch, whatever their order. */
export function batchOf(items: readonly Item[]): Shipment {
  const sorted = items.toSorted(bySequence);
  const [first] = sorted;
  assert(first !== undefined, 'a batch has at least one event');
  const ids = sorted.map(({ record }) => record.eventId);
  return { items: sorted, webhookId: batchIdOf(first.record.endpointId, ids), isBatch: true, cancel: null };
}

/** What is stored with each event of a batch that was sent, so that the same batch is sent again. */
export function groupOf({ isBatch, webhookId, items }: Shipment): WebhookGroup | null {
  return isBatch ? { id: webhookId, size: items.length } : null;
}

/** Which try of its events the next or present one is. */
export const triesOfShipment = ({ items }: Shipment): number =>
  items.reduce((most, item) => Math.max(most, triesOf(item)), 0);
