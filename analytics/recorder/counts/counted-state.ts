// The part of a message's state that reports count, as numbers that are changed in place: the same fold as
// model/fold.ts `foldEvent` (a property test holds them together), without an object per event.
import type { DeliveryEvent } from '../../../model/delivery-event.ts';
import { copiesAfter, endOfCopy, noCopies, statusOfCopies } from '../../../model/copies.ts';
import { type MessageStatus, isTerminal, messageStatuses } from '../../../model/status.ts';
import type { Names } from '../../store/names.ts';

/** The statuses that are counted: those of messages, and requests that a gate refused, which were never messages. */
export const countedStatuses: readonly (MessageStatus | 'refused')[] = [...messageStatuses, 'refused'];

const indexOf = (status: MessageStatus | 'refused'): number => countedStatuses.indexOf(status);
const terminal = countedStatuses.map((status) => status === 'refused' || isTerminal(status));
const accepted = indexOf('accepted');
const scheduled = indexOf('scheduled');
const submitted = indexOf('submitted');
const delivered = indexOf('delivered');
const unknown = indexOf('unknown');
const byKind: ReadonlyMap<string, number> = new Map(countedStatuses.map((status, index) => [status, index]));
export const refusedStatus = indexOf('refused');

/** No such moment yet. */
export const noTime = 0xffff_ffff;

export type CountedState = {
  /** Index in `countedStatuses`. */
  status: number;
  /** It has an entry in its history: a `scheduled` that comes later changes nothing. */
  begun: boolean;
  resent: boolean;
  /** Its copies at two carriers (model/copies.ts). */
  copies: number;
  /** Index in the names; 0 before a carrier has it. */
  carrier: number;
  /** Index in the names: the error of the terminal status, 0 without one. */
  error: number;
  /** Bits 1..10 of the segments. */
  submittedBits: number;
  deliveredBits: number;
  /** Milliseconds after acceptance of the first submit, of the delivery, and when it was due; or `noTime`. */
  submittedMs: number;
  deliveredMs: number;
  dueMs: number;
};

/** The part of an event that changes counts. */
export type CountedEvent = Pick<
  DeliveryEvent,
  | 'eventId'
  | 'messageId'
  | 'kind'
  | 'atMs'
  | 'carrier'
  | 'hop'
  | 'segment'
  | 'segments'
  | 'error'
  | 'acceptedAtMs'
  | 'scheduledAtMs'
>;

/** Whether the event is about a message to a subscriber. Others are no messages, or came from one. */
export function isOfMessage({ kind }: Pick<DeliveryEvent, 'kind'>): boolean {
  return kind !== 'refused' && kind !== 'received' && kind !== 'opted_out' && kind !== 'opted_in';
}

/** The state of a message before its first event. */
export function emptyCounted(): CountedState {
  return {
    status: accepted,
    begun: false,
    resent: false,
    copies: noCopies,
    carrier: 0,
    error: 0,
    submittedBits: 0,
    deliveredBits: 0,
    submittedMs: noTime,
    deliveredMs: noTime,
    dueMs: 0,
  };
}

/** Applies an event that the state has not seen. */
export function applyEvent(state: CountedState, event: CountedEvent, names: Names): void {
  switch (event.kind) {
    case 'intent':
    case 'deferred':
    case 'rerouted':
      return;
    case 'accepted':
      if (state.status === scheduled) state.status = accepted;
      state.begun = true;
      return;
    case 'scheduled':
      if (!state.begun) become(state, scheduled, event, names);
      return;
    case 'submitted':
      return applySubmitted(state, event, names);
    case 'delivered':
      return applyDelivered(state, event, names);
    case 'resent':
      if (terminal[state.status] === true || state.resent) return;
      state.resent = true;
      state.begun = true;
      return;
    case 'hedged':
      state.copies = copiesAfter(state.copies, event);
      return;
    case 'refused':
    case 'received':
    case 'opted_out':
    case 'opted_in':
      return settle(state, byKind.get(event.kind) ?? unknown, event, names);
    default:
      applyEnd(state, event.kind, event, names);
  }
}

/** The end of one copy is the end of a message that has no other. */
function applyEnd(state: CountedState, kind: MessageStatus, event: CountedEvent, names: Names): void {
  state.copies = endOfCopy(state.copies, event, kind);
  const status = statusOfCopies(state.copies, kind);
  if (status !== null) settle(state, byKind.get(status) ?? unknown, event, names);
}

function applySubmitted(state: CountedState, event: CountedEvent, names: Names): void {
  state.submittedBits |= bitOf(event);
  state.carrier = names.indexOf(event.carrier);
  const atMs = sinceAcceptance(event, event.atMs);
  if (atMs < state.submittedMs) {
    state.submittedMs = atMs;
    state.dueMs = sinceAcceptance(event, event.scheduledAtMs ?? event.acceptedAtMs);
  }
  if (terminal[state.status] === true || state.submittedBits !== allBits(event)) return;
  become(state, submitted, event, names);
}

function applyDelivered(state: CountedState, event: CountedEvent, names: Names): void {
  state.deliveredBits |= bitOf(event);
  state.carrier = names.indexOf(event.carrier);
  if (state.deliveredBits !== allBits(event)) return;
  const before = state.status;
  settle(state, delivered, event, names);
  if (state.status === delivered && before !== delivered) state.deliveredMs = sinceAcceptance(event, event.atMs);
}

function settle(state: CountedState, status: number, event: CountedEvent, names: Names): void {
  if (terminal[state.status] === true && (state.status !== unknown || status === unknown)) return;
  become(state, status, event, names);
}

function become(state: CountedState, status: number, event: CountedEvent, names: Names): void {
  state.status = status;
  state.begun = true;
  state.error = terminal[status] === true && event.error !== null ? names.indexOf(event.error) : 0;
  if (event.carrier !== '') state.carrier = names.indexOf(event.carrier);
}

function sinceAcceptance({ acceptedAtMs }: CountedEvent, atMs: number): number {
  return Math.min(Math.max(0, Math.floor(atMs - acceptedAtMs)), noTime - 1);
}

/** A message has at most ten segments. */
export const segmentBits = 0x7fe;

function bitOf(event: CountedEvent): number {
  return event.segment === 0 ? allBits(event) : (1 << event.segment) & segmentBits;
}

function allBits({ segments }: CountedEvent): number {
  return (((1 << segments) - 1) << 1) & segmentBits;
}
