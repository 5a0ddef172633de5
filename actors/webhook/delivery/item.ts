// One event that an endpoint is to get, and where it came from: what is to happen to its record when it was delivered,
// or when it must wait elsewhere.
import type { WebhookRecord } from '../../../model/records/webhook-record.ts';
import type { Cancel } from '../../../platform/clock.ts';

export type Item = {
  readonly record: WebhookRecord;
  /** queue: WEBHOOKS · line: the endpoint's line in WEBHOOK_LOG · retry: an event there with a time of its own. */
  readonly from: 'queue' | 'line' | 'retry';
  /** Of its record in WEBHOOK_LOG; 0 for one from the queue. */
  readonly seq: number;
  /** Its record is not needed any more: it was delivered, given up, or stored elsewhere. */
  readonly settle: () => void;
  /** Monotonic. */
  readonly queuedAtMs: number;
  /** Tries in this process; `record.tries` are those before. */
  tries: number;
  /** Ends its request; null while there is none. */
  cancel: Cancel | null;
  /** Whatever its request still says is not for it. */
  isOver: boolean;
};

export function newItem(of: Pick<Item, 'record' | 'from' | 'seq' | 'settle' | 'queuedAtMs'>): Item {
  return { ...of, tries: 0, cancel: null, isOver: false };
}

export const triesOf = ({ record, tries }: Item): number => record.tries + tries;

/** Events of one message have one chain; others are chains of their own. */
export function chainOf({ content, eventId }: WebhookRecord): string {
  return 'event' in content ? content.event.messageId : eventId;
}
