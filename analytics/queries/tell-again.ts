// The events of an account's messages that had one in a time, or of the message with one event: whole messages, so that
// the reader can tell which of their events were told to webhooks.
import { webhookTypeOfKind } from '../../model/webhook-endpoint.ts';
import { packEvent } from '../../model/records/event-record.ts';
import type { TellAgain, TellAgainReply } from '../contract.ts';
import type { Engine } from '../store/engine.ts';
import { eventColumns, eventOfRow, eventOrder } from '../store/event-row.ts';
import { limits } from '../../platform/limits.ts';

const toldKinds = Object.keys(webhookTypeOfKind);

export async function tellAgain(engine: Engine, query: TellAgain): Promise<TellAgainReply> {
  const { accountId, livemode, afterMessageId } = query;
  const [which, range] =
    'eventId' in query
      ? ['event_id = {eventId:String}', { eventId: query.eventId }]
      : [
          'at >= fromUnixTimestamp64Milli({sinceMs:Int64}) AND at < fromUnixTimestamp64Milli({untilMs:Int64})',
          { sinceMs: query.sinceMs, untilMs: query.untilMs },
        ];
  const own = `account_id = {accountId:String} AND livemode = {livemode:Bool}`;
  const messages = limits.queries.replayMessagesMax;
  const parameters = { accountId, livemode, afterMessageId, toldKinds, ...range };
  const within = limits.queries.deadlineMs;
  const ids = (
    await engine.rows(
      `SELECT DISTINCT message_id FROM sms_events
       WHERE ${own} AND kind IN {toldKinds:Array(String)} AND message_id > {afterMessageId:String} AND ${which}
       ORDER BY message_id LIMIT ${messages} SETTINGS max_threads = 1`,
      parameters,
      within,
      'account',
    )
  ).map(([id]) => id as string);
  // It reads the whole time: once, with the first page. Of several segments one counts.
  const counted =
    'eventId' in query || afterMessageId !== ''
      ? null
      : await engine.rows(
          `SELECT uniqExact(message_id, kind) FROM sms_events
           WHERE ${own} AND kind IN {toldKinds:Array(String)} AND ${which} SETTINGS max_threads = 1`,
          parameters,
          within,
          'account',
        );
  const rows =
    ids.length === 0
      ? []
      : await engine.rows(
          `SELECT ${eventColumns} FROM sms_events WHERE ${own} AND message_id IN {ids:Array(String)} ORDER BY ${eventOrder}`,
          { ...parameters, ids },
          within,
          'account',
        );
  return {
    result: 'found',
    events: rows.map((row) => packEvent(eventOfRow(row)).toString('base64')),
    nextMessageId: ids.length < messages ? null : (ids.at(-1) ?? null),
    total: counted === null ? null : Number(counted[0]?.[0] ?? 0),
  };
}
