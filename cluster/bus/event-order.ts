// Keeps the events of one message in the order they were written: while one is published and not durable, the next ones
// wait. A publish is repeated on its own when its stream had no leader, so two in flight may be stored the wrong way
// round. An intent is durable before its submit, so that in practice only a receipt soon after its response waits.
import type { DeliveryEvent } from '../../model/delivery-event.ts';

/** Called once per event: true when it is durable, false when the process stops first. */
export type EventDone = (durable: boolean) => void;
export type WrittenEvent = { readonly event: DeliveryEvent; readonly done: EventDone };

type Published = { count: number; waiting: WrittenEvent[] | null };

export class EventOrder {
  /** By message id: its published events that are not durable yet, and what waits for them. */
  readonly #published = new Map<string, Published>();

  /** Keeps the event until those of its message that are published are durable; false: it need not wait. */
  keeps(event: DeliveryEvent, done: EventDone): boolean {
    const published = this.#published.get(event.messageId);
    if (published === undefined) return false;
    published.waiting ??= [];
    published.waiting.push({ event, done });
    return true;
  }

  publishes(events: readonly DeliveryEvent[]): void {
    for (const { messageId } of events) {
      const published = this.#published.get(messageId);
      if (published === undefined) this.#published.set(messageId, { count: 1, waiting: null });
      else published.count += 1;
    }
  }

  /** They are durable, or given up. Returns what waited for them, in its order. */
  ended(events: readonly DeliveryEvent[]): WrittenEvent[] {
    const released: WrittenEvent[] = [];
    for (const { messageId } of events) {
      const published = this.#published.get(messageId);
      if (published === undefined) continue;
      published.count -= 1;
      if (published.count > 0) continue;
      this.#published.delete(messageId);
      if (published.waiting !== null) released.push(...published.waiting);
    }
    return released;
  }
}
