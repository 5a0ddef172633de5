// The events the recorder holds and ClickHouse does not have yet, for queries. They come later in the stream than
// everything recorded, so rows first and these after is the order of the fold; the fold drops an event that is in
// both.
import type { DeliveryEvent } from '../../model/delivery-event.ts';
import type { Batch } from '../recorder/batch.ts';

export type Unflushed = {
  /** In stream order; empty when nothing is held. */
  eventsOf(messageId: string): readonly DeliveryEvent[];
  /** One event of each message held. */
  messages(): Iterable<DeliveryEvent>;
};

/** `batches` is asked again each time: batches come and go. */
export function unflushedOver(batches: () => Iterable<Batch>): Unflushed {
  return {
    eventsOf(messageId) {
      const events: DeliveryEvent[] = [];
      for (const batch of batches()) events.push(...batch.eventsOf(messageId));
      return events;
    },
    *messages() {
      for (const batch of batches()) yield* batch.messages();
    },
  };
}
