// The state of one message: the fold of its recorded and unflushed events. Right after the 202 the first event may not
// have arrived yet: a query for a young unknown message waits a moment and is never answered with `none`.
import { type MessageId, isMessageId, timeOfMessageId } from '../../model/ids.ts';
import { packEvent } from '../../model/records/event-record.ts';
import type { NumberHashes } from '../../model/number-hash.ts';
import { type Clock, systemClock } from '../../platform/clock.ts';
import { limits } from '../../platform/limits.ts';
import type { DeliveryEvent, InboundFacts } from '../../model/delivery-event.ts';
import type { Use } from '../../platform/shared-bound.ts';
import type { GetMessage, GetMessageReply, PassedOn, InboundView, MessageView } from '../contract.ts';
import type { Arrivals } from './arrivals.ts';
import type { RecordedEvents } from './recorded-events.ts';
import type { Unflushed } from '../recorder/batch.ts';
import { type UpToDate, unavailable } from './up-to-date.ts';
import { hopsOf } from './hops.ts';
import { copiesAfter, noCopies } from '../../model/copies.ts';
import { foldEvents } from '../../model/fold.ts';

export type Sources = {
  readonly recorded: RecordedEvents;
  readonly unflushed: Unflushed;
  readonly arrivals: Arrivals;
  readonly upToDate: UpToDate;
  readonly numbers: NumberHashes;
  readonly clock?: Clock;
};

/** The events of this id are a subscriber's decision and no message. */
const noMessage = Symbol('no message');

type Found = Pick<GetMessageReply & { readonly result: 'found' }, 'message' | 'event' | 'events' | 'hops' | 'passedOn'>;

export async function getMessage(sources: Sources, query: GetMessage): Promise<GetMessageReply> {
  // No event with such an id was ever published.
  const { messageId } = query;
  if (!isMessageId(messageId) || typeof query.accountId !== 'string') return { result: 'none', recordedTo: 0 };
  const { arrivals, upToDate, clock = systemClock } = sources;
  const ageMs = clock.nowMs() - timeOfMessageId(messageId);
  // An id further ahead than clocks differ was made up: no event of it can arrive.
  const isYoung = ageMs < limits.queries.youngMs && ageMs >= -limits.queries.aheadMs;
  if (query.upToDate !== true) {
    // The wait starts before the look-up, so that an event that arrives during it is not missed.
    const mayWait = isYoung && query.wait !== false && sources.unflushed.eventsOf(messageId).length === 0;
    const arrival = mayWait ? arrivals.wait(messageId, limits.queries.youngWaitMs) : null;
    const recordedTo = upToDate.recordedTo();
    let found = await look(sources, query);
    if (found === null && arrival !== null && (await arrival)) found = await look(sources, query);
    if (found !== null && found !== noMessage) return { result: 'found', recordedTo, ...found };
  }
  const looked = await upToDate.surely(() => look(sources, query));
  if (looked.result === 'unavailable') return looked;
  const { value, recordedTo } = looked;
  if (value !== null && value !== noMessage) return { result: 'found', recordedTo, ...value };
  if (value === null && isYoung && !(await isOfAnyAccount(sources, messageId))) {
    return unavailable('young', 'its first event may still be on its way');
  }
  return { result: 'none', recordedTo };
}

/** A caller with `upToDate` acts on the answer: that is the system's own work, whatever the account. */
export function useOf({ upToDate, use }: GetMessage): Use {
  if (upToDate === true) return 'system';
  return use === 'urgent' || use === 'system' ? use : 'ordinary';
}

async function look({ recorded, unflushed }: Sources, query: GetMessage): Promise<Found | typeof noMessage | null> {
  const { accountId, messageId, withEvent, withEvents, withHops, upToDate } = query;
  // Unflushed events first, recorded ones after: an event flushed in between is then read twice and not missed.
  const held = unflushed.eventsOf(messageId);
  const rows = await (useOf(query) === 'ordinary' ? recorded.shownTo : recorded.of)({ accountId, messageId });
  const own = [...rows, ...held].filter((event) => event.accountId === accountId);
  const message = messageViewOf(own);
  const [event] = own;
  if (event === undefined) return null;
  if (message === null) return noMessage;
  const passedOn = upToDate === true ? lastPassedOn(own) : null;
  return {
    message,
    ...(withEvent === true ? { event } : {}),
    ...(withEvents === true ? { events: own.map((each) => packEvent(each).toString('base64')) } : {}),
    ...(withHops === true ? { hops: hopsOf(own) } : {}),
    ...(passedOn === null ? {} : { passedOn }),
  };
}

/** The last pass-on by an actor. A deferral with a segment is none: its record stayed in place. */
function lastPassedOn(events: readonly DeliveryEvent[]): PassedOn | null {
  let last: PassedOn | null = null;
  for (const event of events) {
    const { kind, segment, hop, attempt } = event;
    if (kind === 'hedged' && copiesAfter(noCopies, event) === noCopies) continue;
    if (kind !== 'hedged' && kind !== 'rerouted' && (kind !== 'deferred' || segment !== 0)) continue;
    const isBefore = last !== null && (hop < last.hop || (hop === last.hop && attempt < last.attempt));
    if (!isBefore) last = { kind, hop, attempt };
  }
  return last;
}

/** Whether another account has the message: then it is certain that this one does not. */
async function isOfAnyAccount({ recorded, unflushed }: Sources, messageId: MessageId): Promise<boolean> {
  if (unflushed.eventsOf(messageId).length > 0) return true;
  return recorded.isOfAnyAccount({ messageId, aboutMs: timeOfMessageId(messageId) });
}

/** The fold of its events, for the API. Null when there are none. `events` in stream order; repeats are harmless. */
export function messageViewOf(events: Iterable<DeliveryEvent>): MessageView | null {
  const state = foldEvents(events);
  if (state === null) return null;
  const { first, status, acceptedAtMs, submittedAtMs, deliveredAtMs, error, carrier, history } = state;
  const { category, encoding, segments, livemode, clientReference, scheduledAtMs } = first;
  // A subscriber's decision is no message.
  if (first.kind === 'opted_out' || first.kind === 'opted_in') return null;
  const isInbound = first.kind === 'received';
  return {
    id: first.messageId,
    refused: first.kind === 'refused',
    direction: isInbound ? 'inbound' : 'outbound',
    status,
    to: isInbound ? first.sender : first.recipient,
    from: isInbound ? first.recipient : first.sender,
    ...{ category, encoding, segments, livemode, clientReference },
    ...{ acceptedAtMs, scheduledAtMs, submittedAtMs, deliveredAtMs, error, carrier, history },
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
