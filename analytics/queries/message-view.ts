// The state of a message as the API shows it: the fold of its events, without what only the fold needs.
import type { DeliveryEvent } from '../../model/delivery-event.ts';
import { foldEvents } from '../../model/fold.ts';
import type { MessageView } from '../contract.ts';

/** Null when there are no events. `events` in stream order; repeats are harmless. */
export function messageViewOf(events: Iterable<DeliveryEvent>): MessageView | null {
  const state = foldEvents(events);
  if (state === null) return null;
  const { first } = state;
  return {
    id: first.messageId,
    refused: first.kind === 'refused',
    status: state.status,
    to: first.recipient,
    from: first.sender,
    category: first.category,
    encoding: first.encoding,
    segments: first.segments,
    livemode: first.livemode,
    clientReference: first.clientReference,
    acceptedAtMs: state.acceptedAtMs,
    scheduledAtMs: first.scheduledAtMs,
    submittedAtMs: state.submittedAtMs,
    deliveredAtMs: state.deliveredAtMs,
    error: state.error,
    carrier: state.carrier,
    history: state.history,
  };
}
