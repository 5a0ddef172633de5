// Finds messages that may have to be settled, by due time: the end of their validity, or, for a submit recorded later
// than that plus the grace, the time of recording minus the grace. So a cursor over due times skips no message,
// whatever was down and for how long. Pages are read through the indexes of both times.
import { limits } from '../../platform/limits.ts';
import type { Engine } from '../store/engine.ts';
import type { DuePosition } from './reaper-cursor.ts';

export type Overdue = DuePosition & { readonly accountId: string };

const { reaper: bounds } = limits;
const { receiptGraceMs } = limits.message;

/** Candidates only: the fold decides whether a message is settled (of two segments one may be delivered). */
const unsettled = `countIf(kind = 'submitted') > 0
  AND countIf(kind IN ('undelivered', 'expired', 'rejected', 'unknown', 'failed', 'blocked', 'canceled')) = 0
  AND countIf(kind = 'delivered' AND segment = 0) = 0
  AND uniqExactIf(segment, kind = 'delivered') < max(segments)`;

const time = (name: string, more = 0) => `fromUnixTimestamp64Milli({${name}:Int64} + ${more})`;

/** The next candidates after `position` due up to `toMs`; with a full page, the last one is the next position. */
export async function overduePage(
  engine: Engine,
  position: DuePosition,
  toMs: number,
  limitMs: number = bounds.statementMsMax,
): Promise<readonly Overdue[]> {
  const rows = await engine.rows(
    `SELECT account_id, message_id, due FROM (
       SELECT account_id, message_id, toUnixTimestamp64Milli(max(valid_until)) AS due FROM sms_events
       WHERE valid_until >= ${time('fromMs')} AND valid_until <= ${time('toMs')}
       GROUP BY account_id, message_id HAVING ${unsettled}
       UNION ALL
       SELECT account_id, message_id, toUnixTimestamp64Milli(maxIf(recorded_at, kind = 'submitted')) - ${receiptGraceMs} AS due
       FROM sms_events
       WHERE recorded_at >= ${time('fromMs', receiptGraceMs)} AND recorded_at <= ${time('toMs', receiptGraceMs)}
         AND valid_until <= ${time('fromMs')}
       GROUP BY account_id, message_id HAVING ${unsettled}
     )
     WHERE due > {fromMs:Int64} OR (due = {fromMs:Int64} AND message_id > {fromId:String})
     ORDER BY due, message_id LIMIT {messagesMax:UInt32}
     SETTINGS max_threads = 1, optimize_aggregation_in_order = 1, max_execution_time = ${limitMs / 1_000}`,
    { fromMs: position.dueMs, fromId: position.messageId, toMs, messagesMax: bounds.messagesPerPageMax },
    limits.queries.deadlineMs + limitMs,
    'background',
  );
  return rows.map(([accountId, messageId, dueMs]) => ({
    accountId: accountId as string,
    messageId: messageId as string,
    dueMs: dueMs as number,
  }));
}

/** A time before the first recorded message falls due; null without messages. ClickHouse answers it from metadata. */
export async function firstDueMs(engine: Engine): Promise<number | null> {
  const [row] = await engine.rows(
    'SELECT count(), toUnixTimestamp64Milli(min(accepted_at)) FROM sms_events',
    {},
    bounds.shortestSliceMsMax,
    'background',
  );
  return row === undefined || Number(row[0]) === 0 ? null : (row[1] as number) - 1;
}
