// Asks the event store whether a message has gone further than one of its records: a carrier has submitted any part of it,
// it has ended, or an actor has given it on. Asked only about what may be a second record of the same message, published
// when the stream had forgotten the first: a reroute, a release, a repeat under an idempotency key, the copy of a
// record that was moved to overflow. Then a moment does not matter.
import type { PassedOn } from '../../../analytics/contract.ts';
import { type EventStoreAnswer, askEventStore } from '../../ask-event-store.ts';
import type { Bus } from '../../../cluster/bus/connect.ts';
import type { Message } from '../../../model/message.ts';
import { delaysOf } from '../in-flight/attempt.ts';

/** Whether the carrier a message was rerouted to has begun with it. What it was only given is not begun. */
export function wasSubmitted(bus: Pick<Bus, 'connection'>, message: Message): Promise<EventStoreAnswer> {
  return wasBegun(bus, { ...message, hop: message.hop + 1, delays: 0 });
}

/** Whether anybody has begun with this record of a message, or with one behind it. */
export function wasBegun(bus: Pick<Bus, 'connection'>, message: Message): Promise<EventStoreAnswer> {
  return askEventStore(
    bus,
    message,
    ({ submittedAtMs }, passedOn) =>
      (submittedAtMs ?? null) !== null || (passedOn !== null && wasPassedOnAfter(message, passedOn)),
  );
}

/** True when this record, or one after it, was given on. */
export function wasPassedOnAfter({ hop, delays }: Pick<Message, 'hop' | 'delays'>, passedOn: PassedOn): boolean {
  return passedOn.hop > hop || (passedOn.hop === hop && delaysOf(passedOn.attempt) >= delays);
}
