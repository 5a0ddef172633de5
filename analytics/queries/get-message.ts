// The state of one message: the fold of its recorded and its held events. Right after the 202 the first event may
// still be on its way; a young unknown message is waited for a moment and never answered with `none`: its event may
// not be in EVENTS yet.
import { type MessageId, isMessageId, timeOfMessageId } from '../../model/ids.ts';
import { type Clock, systemClock } from '../../platform/clock.ts';
import { limits } from '../../platform/limits.ts';
import type { DeliveryEvent } from '../../model/delivery-event.ts';
import type { Use } from '../../platform/shared-bound.ts';
import type { GetMessage, GetMessageReply, PassedOn } from '../contract.ts';
import type { Arrivals } from './arrivals.ts';
import { messageViewOf } from './message-view.ts';
import type { RecordedEvents } from './recorded-events.ts';
import type { Unflushed } from './unflushed.ts';
import { type UpToDate, unavailable } from './up-to-date.ts';

export type Sources = {
  readonly recorded: RecordedEvents;
  readonly unflushed: Unflushed;
  readonly arrivals: Arrivals;
  readonly upToDate: UpToDate;
  readonly clock?: Clock;
};

/** There are events under the id, and they are of no message: what a subscriber decided. */
const noMessage = Symbol('no message');

type Found = Pick<GetMessageReply & { readonly result: 'found' }, 'message' | 'event' | 'passedOn'>;

export async function getMessage(sources: Sources, query: GetMessage): Promise<GetMessageReply> {
  // No event of such a message was ever published.
  const { messageId } = query;
  if (!isMessageId(messageId) || typeof query.accountId !== 'string') return { result: 'none', recordedTo: 0 };
  const { arrivals, upToDate, clock = systemClock } = sources;
  const ageMs = clock.nowMs() - timeOfMessageId(messageId);
  // An id from further ahead than clocks differ was made up: nothing of it is on its way.
  const isYoung = ageMs < limits.queries.youngMs && ageMs >= -limits.queries.aheadMs;
  if (query.upToDate !== true) {
    // The wait begins before the look-up: an event that comes during it is not missed either.
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
  if (value === null && isYoung && !(await isAnybodys(sources, messageId))) {
    return unavailable('young', 'its first event may still be on its way');
  }
  return { result: 'none', recordedTo };
}

/** Whoever asks for `upToDate` acts on the answer: that is the system's own work, whatever account it is about. */
export function useOf({ upToDate, use }: GetMessage): Use {
  if (upToDate === true) return 'system';
  return use === 'otp' || use === 'system' ? use : 'ordinary';
}

async function look({ recorded, unflushed }: Sources, query: GetMessage): Promise<Found | typeof noMessage | null> {
  const { accountId, messageId, withEvent, upToDate } = query;
  // Held first, recorded after: what moves from one to the other in between is then seen twice and not missed.
  const held = unflushed.eventsOf(messageId);
  const rows = await (useOf(query) === 'ordinary' ? recorded.shownTo : recorded.of)({ accountId, messageId });
  const own = [...rows, ...held].filter((event) => event.accountId === accountId);
  const message = messageViewOf(own);
  const [event] = own;
  if (event === undefined) return null;
  if (message === null) return noMessage;
  const passedOn = upToDate === true ? lastPassedOn(own) : null;
  return { message, ...(withEvent === true ? { event } : {}), ...(passedOn === null ? {} : { passedOn }) };
}

/** A deferral of the whole message put it into LATER; a short one is about a segment, and the record stayed. */
function lastPassedOn(events: readonly DeliveryEvent[]): PassedOn | null {
  let last: PassedOn | null = null;
  for (const { kind, segment, hop, attempt } of events) {
    if (kind !== 'rerouted' && (kind !== 'deferred' || segment !== 0)) continue;
    const isBefore = last !== null && (hop < last.hop || (hop === last.hop && attempt < last.attempt));
    if (!isBefore) last = { kind, hop, attempt };
  }
  return last;
}

/** Of a young message that is another account's it is known that it is not this one's. */
async function isAnybodys({ recorded, unflushed }: Sources, messageId: MessageId): Promise<boolean> {
  if (unflushed.eventsOf(messageId).length > 0) return true;
  return recorded.isAnybodys(messageId, timeOfMessageId(messageId));
}
