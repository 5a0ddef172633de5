// The one pure function from a message's events, in stream order, to its state; every view of a message uses it. The
// first terminal status stays; only `unknown` may still be settled by a late receipt or a late refusal.
import { copiesAfter, endOfCopy, noCopies, statusOfCopies } from './copies.ts';
import { assert } from '../platform/assert.ts';
import type { DeliveryEvent } from './delivery-event.ts';
import { type MessageStatus, isTerminal } from './status.ts';

export type HistoryEntry = {
  readonly status: MessageStatus;
  readonly atMs: number;
  readonly carrier: string | null;
  readonly error: string | null;
};

export type MessageState = {
  readonly first: DeliveryEvent;
  readonly status: MessageStatus;
  readonly history: readonly HistoryEntry[];
  readonly acceptedAtMs: number;
  readonly submittedAtMs: number | null;
  readonly deliveredAtMs: number | null;
  readonly error: string | null;
  readonly carrier: string | null;
  /** Bits 1..segments of the segments that were submitted or delivered; bounded by the segment limit of 10. */
  readonly submittedBits: number;
  readonly deliveredBits: number;
  /** It was resent because the outcome of the first submit was unknown. */
  readonly resent: boolean;
  /** Its copies at two carriers (copies.ts). */
  readonly copies: number;
  readonly seen: ReadonlySet<string>;
};

/** The state after all of `events` (in stream order; repeats are harmless), or null when there are none. */
export function foldEvents(events: Iterable<DeliveryEvent>): MessageState | null {
  let state: MessageState | null = null;
  for (const event of events) state = foldEvent(state, event);
  return state;
}

/** One step of the fold. An event that is already in the state changes nothing. */
export function foldEvent(state: MessageState | null, event: DeliveryEvent): MessageState {
  const before = state ?? emptyState(event);
  assert(before.first.messageId === event.messageId, 'a fold is over the events of one message');
  if (before.seen.has(event.eventId)) return before;
  const seen = new Set(before.seen).add(event.eventId);
  const next = { ...before, seen };

  switch (event.kind) {
    case 'intent':
    case 'deferred':
    case 'rerouted':
    // A subscriber's decision changes no message.
    case 'opted_out':
    case 'opted_in':
      return next;
    case 'accepted':
      // It may be published late (the ingress died first): the history still starts with it.
      return {
        ...next,
        status: next.status === 'scheduled' ? 'accepted' : next.status,
        history: beginWith(next.history, entryOf('accepted', event)),
      };
    case 'scheduled':
      return next.history.length === 0 ? become(next, 'scheduled', event) : next;
    case 'submitted':
      return foldSubmitted(next, event);
    case 'delivered':
      return foldDelivered(next, event);
    case 'resent':
      return foldResent(next, event);
    case 'hedged':
      return { ...next, copies: copiesAfter(next.copies, event) };
    case 'refused':
      return settle(next, 'blocked', event);
    default:
      return foldEnd(next, event.kind, event);
  }
}

function foldSubmitted(state: MessageState, event: DeliveryEvent): MessageState {
  const submittedBits = state.submittedBits | bitOf(event);
  const next = {
    ...state,
    submittedBits,
    carrier: event.carrier,
    submittedAtMs: earliest(state.submittedAtMs, event.atMs),
  };
  if (isTerminal(state.status) || submittedBits !== allBits(event)) return next;
  return become(next, 'submitted', event);
}

function foldDelivered(state: MessageState, event: DeliveryEvent): MessageState {
  const deliveredBits = state.deliveredBits | bitOf(event);
  const next = { ...state, deliveredBits, carrier: event.carrier };
  if (deliveredBits !== allBits(event)) return next;
  const settled = settle(next, 'delivered', event);
  return settled.status === 'delivered' && state.status !== 'delivered'
    ? { ...settled, deliveredAtMs: event.atMs }
    : settled;
}

/** The outcome stays open, so the status stays; the history gets one entry, however many segments were resent. */
function foldResent(state: MessageState, event: DeliveryEvent): MessageState {
  if (isTerminal(state.status) || state.resent) return state;
  return { ...state, resent: true, history: [...state.history, entryOf('unknown', event)] };
}

/** The end of one copy is the end of a message that has no other. */
function foldEnd(state: MessageState, kind: MessageStatus, event: DeliveryEvent): MessageState {
  const copies = endOfCopy(state.copies, event, kind);
  const next = copies === state.copies ? state : { ...state, copies };
  const status = statusOfCopies(copies, kind);
  return status === null ? next : settle(next, status, event);
}

/** Sets a terminal status unless one is set already; a later receipt replaces `unknown`. */
function settle(state: MessageState, status: MessageStatus, event: DeliveryEvent): MessageState {
  if (isTerminal(state.status) && (state.status !== 'unknown' || status === 'unknown')) return state;
  return become(state, status, event);
}

function become(state: MessageState, status: MessageStatus, event: DeliveryEvent): MessageState {
  return {
    ...state,
    status,
    error: event.error,
    carrier: event.carrier || state.carrier,
    history: [...state.history, entryOf(status, event)],
  };
}

function emptyState(first: DeliveryEvent): MessageState {
  return {
    first,
    status: 'accepted',
    history: [],
    acceptedAtMs: first.acceptedAtMs,
    submittedAtMs: null,
    deliveredAtMs: null,
    error: null,
    carrier: null,
    submittedBits: 0,
    deliveredBits: 0,
    resent: false,
    copies: noCopies,
    seen: new Set(),
  };
}

function entryOf(status: MessageStatus, event: DeliveryEvent): HistoryEntry {
  const carrier = status === 'accepted' || status === 'scheduled' ? null : event.carrier || null;
  return { status, atMs: event.atMs, carrier, error: event.error };
}

function beginWith(history: readonly HistoryEntry[], entry: HistoryEntry): readonly HistoryEntry[] {
  if (history.some((each) => each.status === 'accepted')) return history;
  const at = history[0]?.status === 'scheduled' ? 1 : 0;
  return [...history.slice(0, at), entry, ...history.slice(at)];
}

/** An event about the whole message (segment 0) counts for every segment. */
function bitOf(event: DeliveryEvent): number {
  return event.segment === 0 ? allBits(event) : 1 << event.segment;
}

function allBits(event: DeliveryEvent): number {
  return ((1 << event.segments) - 1) << 1;
}

function earliest(held: number | null, candidate: number): number {
  return held === null ? candidate : Math.min(held, candidate);
}
