// Asks the event store whether a carrier has begun with a message. Asked only about what an earlier life may or may not
// have published, long enough ago for the stream to have forgotten: a reroute, or the copy of a record that was set
// aside. Then a moment does not matter.
import { type EventStoreAnswer, askEventStore } from '../../../cluster/bus/ask-event-store.ts';
import type { Bus } from '../../../cluster/bus/connect.ts';
import type { Message } from '../../../model/message.ts';

/** Whether the carrier a message was rerouted to knows of it. */
export function wasTaken(bus: Pick<Bus, 'connection'>, message: Message, by: string): Promise<EventStoreAnswer> {
  return askEventStore(bus, message, ({ history }) => history.some((entry) => entry.carrier === by));
}

/** Whether the carrier that has it has submitted any part of it. What it was only given is not begun. */
export function wasBegun(bus: Pick<Bus, 'connection'>, message: Message): Promise<EventStoreAnswer> {
  return askEventStore(bus, message, ({ history }) =>
    history.some(({ status, carrier }) => status === 'submitted' && carrier === message.carrier),
  );
}
