// The events that the recorder holds and ClickHouse does not have yet, for queries. In the stream they are later than
// all recorded ones, so recorded rows followed by these are the order of the fold; the fold drops an event that is in
// both.
import type { DeliveryEvent } from '../../model/delivery-event.ts';
import type { Batch } from '../recorder/batch.ts';

export type Unflushed = {
  /** In stream order; empty when none is held. */
  eventsOf(messageId: string): readonly DeliveryEvent[];
  /** One event of each message held. */
  messages(): Iterable<DeliveryEvent>;
};

/** `batches` is called for each query, because batches change. */
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
