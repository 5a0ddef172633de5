// Answers "how is this message?": what is recorded and what is only held so far, folded. Right after the 202 the
// first event may still be on its way here; a young message that nobody knows is therefore waited for a moment.
import { isMessageId, timeOfMessageId } from '../../model/ids.ts';
import { type Clock, systemClock } from '../../platform/clock.ts';
import { limits } from '../../platform/limits.ts';
import type { GetMessage, GetMessageReply } from '../contract.ts';
import type { Arrivals } from './arrivals.ts';
import { messageViewOf } from './message-view.ts';
import type { RecordedEvents } from './recorded-events.ts';
import type { Unflushed } from './unflushed.ts';

export type Sources = {
  readonly recorded: RecordedEvents;
  readonly unflushed: Unflushed;
  readonly arrivals: Arrivals;
  readonly clock?: Clock;
};

export async function getMessage(sources: Sources, question: GetMessage): Promise<GetMessageReply> {
  const { accountId, messageId } = question;
  if (!isMessageId(messageId) || typeof accountId !== 'string') return { found: false };
  const { recorded, unflushed, arrivals, clock = systemClock } = sources;

  // Held first, recorded after: what moves from one to the other in between is then seen twice and not missed.
  const held = unflushed.eventsOf(messageId);
  // The wait begins before the look-up: an event that comes during it is not missed either.
  const mayWait = question.wait !== false;
  const young = mayWait && held.length === 0 && timeOfMessageId(messageId) > clock.nowMs() - limits.queries.youngMs;
  const arrival = young ? arrivals.wait(messageId, limits.queries.youngWaitMs) : null;
  const rows = await recorded.of({ accountId, messageId });
  if (rows.length === 0 && arrival !== null && (await arrival)) return replyOf(question, unflushed.eventsOf(messageId));
  return replyOf(question, [...rows, ...held]);
}

function replyOf({ accountId, withEvent }: GetMessage, events: Parameters<typeof messageViewOf>[0]): GetMessageReply {
  const own = [...events].filter((event) => event.accountId === accountId);
  const message = messageViewOf(own);
  const [event] = own;
  if (message === null || event === undefined) return { found: false };
  return { found: true, message, ...(withEvent === true ? { event } : {}) };
}
