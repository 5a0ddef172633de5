// The events of an account's messages that had one in a time, or of the message with one event: whole messages, so that
// the reader can derive which of their events were sent to webhooks. No statement reads more than a part of the account's
// rows: those of a range of message ids, and of them those that were recorded since the time began.
import type { DeliveryEvent } from '../../model/delivery-event.ts';
import { firstMessageIdOf, type MessageId, timeOfMessageId } from '../../model/ids.ts';
import { webhookTypeOfKind } from '../../model/webhook-endpoint.ts';
import { packEvent } from '../../model/records/event-record.ts';
import type { Clock } from '../../platform/clock.ts';
import { limits } from '../../platform/limits.ts';
import type { ReplayEvents, ReplayEventsReply } from '../contract.ts';
import { type Engine, shownRows } from '../store/engine.ts';
import { eventColumns, eventOfRow, eventOrder } from '../store/event-row.ts';
import { type Range, readableRange, searchBack } from './readable-range.ts';

const replayedKinds = Object.keys(webhookTypeOfKind);
const { replayMessagesMax: messagesMax, idAheadMsMax, listSearchMs } = limits.queries;

type Found = {
  readonly ids: readonly string[];
  readonly nextMessageId: string | null;
  readonly openBeforeMs: number | null;
};

export async function replayEvents(engine: Engine, query: ReplayEvents, clock: Clock): Promise<ReplayEventsReply> {
  const { accountId, livemode } = query;
  const { ids, ...more } = 'eventId' in query ? await ofEvent(engine, query, clock) : await ofTime(engine, query);
  const reading = `SELECT ${eventColumns} FROM sms_events WHERE account_id = {accountId:String} AND livemode = {livemode:Bool}
    AND message_id IN {ids:Array(String)} ORDER BY ${eventOrder}`;
  const rows = ids.length === 0 ? [] : await shownRows(engine, reading, { accountId, livemode, ids });
  return { result: 'found', events: withCallbackOnce(rows.map(eventOfRow)).map(packed), ...more };
}

/** All events of a message have one callback, of up to a thousand characters: with each of them a page would not fit into a reply. */
function withCallbackOnce(events: readonly DeliveryEvent[]): readonly DeliveryEvent[] {
  return events.map((event, at) => {
    const { callback, ...others } = event;
    const before = events[at - 1];
    const isSame = before?.messageId === event.messageId && before.callback?.url === callback?.url;
    return isSame ? others : event;
  });
}

const packed = (event: DeliveryEvent): string => packEvent(event).toString('base64');

/** A page of the messages; one may be empty and not the last. */
async function ofTime(engine: Engine, query: Extract<ReplayEvents, { afterMessageId: string }>): Promise<Found> {
  const { afterMessageId } = query;
  const toMs = query.untilMs + idAheadMsMax;
  const firstId = afterMessageId === '' ? await firstIdOf(engine, query) : afterMessageId;
  if (firstId === null) return { ids: [], nextMessageId: null, openBeforeMs: null };
  const whole = { fromMs: timeOfMessageId(firstId as MessageId), toMs };
  const statementOf = (range: Range) => idsOf(query, range, afterMessageId);
  const range = await readableRange(engine, whole, 'oldest', statementOf);
  const { sql, params } = statementOf(range);
  // In the order of the primary key, so that reading ends as soon as the page is full.
  const inOrder = `${sql} ORDER BY account_id, message_id LIMIT 1 BY message_id LIMIT ${messagesMax}`;
  const ids = (await shownRows(engine, inOrder, params)).map(([id]) => id as string);
  const isLast = range.toMs === toMs;
  const nextMessageId =
    ids.length === messagesMax ? (ids.at(-1) as string) : isLast ? null : firstMessageIdOf(range.toMs);
  return { ids, nextMessageId, openBeforeMs: null };
}

async function ofEvent(
  engine: Engine,
  query: Extract<ReplayEvents, { eventId: string }>,
  clock: Clock,
): Promise<Found> {
  const giveUpAtMs = clock.monotonicMs() + listSearchMs;
  const statementOf = (range: Range) => {
    const { sql, params } = idsOf(query, range, '');
    return { sql: `${sql} AND event_id = {eventId:String}`, params: { ...params, eventId: query.eventId } };
  };
  const whole = { fromMs: 0, toMs: query.beforeMs ?? query.untilMs + idAheadMsMax };
  const { found, openBeforeMs } = await searchBack(engine, whole, {
    statementOf,
    async read(range) {
      const { sql, params } = statementOf(range);
      const [row] = await shownRows(engine, `${sql} LIMIT 1`, params);
      return (row?.[0] as string | undefined) ?? null;
    },
    giveUp: () => clock.monotonicMs() >= giveUpAtMs,
  });
  return { ids: found === null ? [] : [found], nextMessageId: null, openBeforeMs };
}

/**
 * That of the oldest message, of either mode, that may have an event in the time: the mode is not in the table's key, and
 * so reading ends at the first row.
 */
async function firstIdOf(engine: Engine, { accountId, sinceMs }: ReplayEvents): Promise<string | null> {
  const [row] = await shownRows(
    engine,
    `SELECT message_id FROM sms_events
     WHERE account_id = {accountId:String} AND recorded_at >= ${moment('recordedMs')}
     ORDER BY account_id, message_id LIMIT 1`,
    { accountId, recordedMs: recordedFrom(sinceMs) },
  );
  return (row?.[0] as string | undefined) ?? null;
}

/** The ids of a range that have an event in the time asked for. */
function idsOf(query: ReplayEvents, { fromMs, toMs }: Range, afterId: string) {
  const { accountId, livemode, sinceMs, untilMs, callbackOf } = query;
  // As the index of schema/014-callback-index.sql has it.
  const ofCallback = callbackOf === undefined ? '' : "AND substringIndex(callback, ' ', 1) = {callbackOf:String}";
  const firstId = firstMessageIdOf(fromMs);
  const sql = `SELECT message_id FROM sms_events
    WHERE account_id = {accountId:String} AND livemode = {livemode:Bool}
    AND message_id > {afterId:String} AND message_id < {beforeId:String} AND kind IN {replayedKinds:Array(String)}
    AND at >= ${moment('sinceMs')} AND at < ${moment('untilMs')} AND recorded_at >= ${moment('recordedMs')} ${ofCallback}`;
  const params = {
    ...{ accountId, livemode, replayedKinds, sinceMs, untilMs },
    ...{ afterId: afterId > firstId ? afterId : firstId, beforeId: firstMessageIdOf(toMs) },
    recordedMs: recordedFrom(sinceMs),
    ...(callbackOf === undefined ? {} : { callbackOf }),
  };
  return { sql, params };
}

/** An event is recorded after it happened; the clocks of two machines are nearer to each other than this. */
const recordedFrom = (sinceMs: number): number => Math.max(0, sinceMs - idAheadMsMax);

const moment = (name: string): string => `fromUnixTimestamp64Milli({${name}:Int64})`;
