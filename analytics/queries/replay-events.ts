// The events of an account's messages that had one in a time, or of the message with one event: whole messages, so that
// the reader can derive which of their events were sent to webhooks.
import { webhookTypeOfKind } from '../../model/webhook-endpoint.ts';
import { packEvent } from '../../model/records/event-record.ts';
import type { ReplayEvents, ReplayEventsReply } from '../contract.ts';
import { type Engine, shownRows } from '../store/engine.ts';
import { eventColumns, eventOfRow, eventOrder } from '../store/event-row.ts';
import { limits } from '../../platform/limits.ts';

const replayedKinds = Object.keys(webhookTypeOfKind);
const { replayMessagesMax: messagesMax } = limits.queries;

export async function replayEvents(engine: Engine, query: ReplayEvents): Promise<ReplayEventsReply> {
  const { accountId, livemode, afterMessageId } = query;
  const [which, range] =
    'eventId' in query
      ? ['event_id = {eventId:String}', { eventId: query.eventId }]
      : [
          'at >= fromUnixTimestamp64Milli({sinceMs:Int64}) AND at < fromUnixTimestamp64Milli({untilMs:Int64})',
          { sinceMs: query.sinceMs, untilMs: query.untilMs },
        ];
  const own = `account_id = {accountId:String} AND livemode = {livemode:Bool}`;
  const replayed = `${own} AND kind IN {replayedKinds:Array(String)} AND ${which}`;
  const parameters = { accountId, livemode, afterMessageId, replayedKinds, ...range };
  const messages = await shownRows(
    engine,
    `SELECT DISTINCT message_id FROM sms_events WHERE ${replayed} AND message_id > {afterMessageId:String}
     ORDER BY message_id LIMIT ${messagesMax} SETTINGS max_threads = 1`,
    parameters,
  );
  const ids = messages.map(([id]) => id as string);
  // It reads the whole time: once, with the first page. Of several segments one counts.
  const isFirstOfTime = !('eventId' in query) && afterMessageId === '';
  const counting = `SELECT uniqExact(message_id, kind) FROM sms_events WHERE ${replayed} SETTINGS max_threads = 1`;
  const counted = isFirstOfTime ? await shownRows(engine, counting, parameters) : null;
  const reading = `SELECT ${eventColumns} FROM sms_events WHERE ${own} AND message_id IN {ids:Array(String)} ORDER BY ${eventOrder}`;
  const rows = ids.length === 0 ? [] : await shownRows(engine, reading, { ...parameters, ids });
  return {
    result: 'found',
    events: rows.map((row) => packEvent(eventOfRow(row)).toString('base64')),
    nextMessageId: ids.length < messagesMax ? null : (ids.at(-1) ?? null),
    total: counted === null ? null : Number(counted[0]?.[0] ?? 0),
  };
}
