// Asks the event store whether a message is further than one of its records: a carrier has submitted a part of it, it
// has ended, or an actor has passed it on. Asked only about a possible second record of the same message, published
// after the stream had forgotten the first id: a reroute, a release, a repeat under an idempotency key, an overflow
// copy. There the time of a query does not matter.
import type { PassedOn, SentHop } from '../../../analytics/contract.ts';
import { type EventStoreAnswer, askEventStore } from '../../ask-event-store.ts';
import type { Bus } from '../../../cluster/bus/connect.ts';
import type { Message } from '../../../model/message.ts';
import { delaysOf } from '../in-flight/attempt.ts';

/** Whether the carrier a message was rerouted to has begun with it. Only having its record is not beginning. */
export function wasSubmitted(bus: Pick<Bus, 'connection'>, message: Message): Promise<EventStoreAnswer> {
  return wasBegun(bus, { ...message, hop: message.hop + 1, delays: 0 });
}

/** Whether any actor has begun with this record of a message, or with a later one. */
export function wasBegun(bus: Pick<Bus, 'connection'>, message: Message): Promise<EventStoreAnswer> {
  return askEventStore(
    bus,
    message,
    ({ submittedAtMs }, passedOn, hops) =>
      // Of a second copy: whether its own carrier has it. What the first one's carrier has does not matter.
      (message.hedge === 'copy' ? isSubmittedFrom(message.hop, hops) : (submittedAtMs ?? null) !== null) ||
      (passedOn !== null && wasPassedOnAfter(message, passedOn)),
  );
}

function isSubmittedFrom(hop: number, hops: readonly SentHop[]): boolean {
  return hops.some((each) => each.hop >= hop && each.acceptedToSubmittedMs !== null);
}

/** True when this record, or one after it, was passed on. */
export function wasPassedOnAfter({ hop, delays }: Pick<Message, 'hop' | 'delays'>, passedOn: PassedOn): boolean {
  return passedOn.hop > hop || (passedOn.hop === hop && delaysOf(passedOn.attempt) >= delays);
}
