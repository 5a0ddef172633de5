// The state of a message for the API: the fold of its events without internals.
import type { DeliveryEvent, InboundFacts } from '../../model/delivery-event.ts';
import { foldEvents } from '../../model/fold.ts';
import type { InboundView, MessageView } from '../contract.ts';

/** Null when there are no events. `events` in stream order; repeats are harmless. */
export function messageViewOf(events: Iterable<DeliveryEvent>): MessageView | null {
  const state = foldEvents(events);
  if (state === null) return null;
  const { first } = state;
  // A subscriber's decision is no message.
  if (first.kind === 'opted_out' || first.kind === 'opted_in') return null;
  const isInbound = first.kind === 'received';
  return {
    id: first.messageId,
    refused: first.kind === 'refused',
    direction: isInbound ? 'inbound' : 'outbound',
    status: state.status,
    to: isInbound ? first.sender : first.recipient,
    from: isInbound ? first.recipient : first.sender,
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
    inbound: isInbound ? inboundViewOf(first.inbound) : null,
  };
}

function inboundViewOf(inbound: InboundFacts | undefined): InboundView {
  if (inbound === undefined) return { keyword: null, parts: 0, sealedBody: null };
  const { keyword, parts, keepBody, sealedBody } = inbound;
  // A body that will not be stored is not shown before it is recorded either.
  return {
    keyword,
    parts,
    sealedBody: keepBody && sealedBody !== null ? Buffer.from(sealedBody).toString('base64') : null,
  };
}
