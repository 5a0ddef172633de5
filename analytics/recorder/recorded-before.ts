// What ClickHouse has already: ids of recent events, to fill the memory after a start, and the events of messages older
// than the memory, for their ids and for the state that they leave. Rows of the range about to be inserted (perhaps
// again) do not count: they are recognised by the insert's token, because without them the repeated insert would be a
// different one.
import type { DeliveryEvent, EventKind } from '../../model/delivery-event.ts';
import type { EventId } from '../../model/ids.ts';
import { limits } from '../../platform/limits.ts';
import { metrics } from '../../platform/telemetry.ts';
import { type Engine, slowRows } from '../store/engine.ts';
import { eventOrder } from '../store/event-row.ts';
import type { CountedEvent } from './counts/counted-state.ts';
import { SeenIds } from './seen-ids.ts';

/** From this record of this stream on, it is not certain what is recorded. */
type Frontier = { readonly streamEpoch: number; readonly streamSeq: number };

const notBeyond = 'NOT (stream_epoch = {streamEpoch:UInt64} AND stream_seq >= {streamSeq:UInt64})';

/** Rebuilds the memory of ids as of the moment when everything before the frontier, and nothing else, was recorded. */
export async function refillSeenIds(
  engine: Engine,
  frontier: Frontier,
  nowMs: number,
  refillMax: number = limits.recorder.seenRefillMax,
): Promise<SeenIds> {
  const sinceMs = nowMs - limits.recorder.seenRefillMs;
  const rows = await slowRows(
    engine,
    `SELECT event_id, toUnixTimestamp64Milli(recorded_at) AS recorded_ms FROM sms_events
     WHERE recorded_at >= fromUnixTimestamp64Milli({sinceMs:Int64}) AND ${notBeyond}
     ORDER BY recorded_at DESC LIMIT {refillMax:UInt32}`,
    { ...frontier, sinceMs, refillMax },
  );
  // With a full result, some rows of its oldest time may be missing.
  const coversFromMs = rows.length < refillMax ? sinceMs : (rows.at(-1)?.[1] as number) + 1;
  const seen = new SeenIds(coversFromMs);
  for (const [eventId] of rows) seen.add(eventId as string);
  return seen;
}

/** Recorded events by message id, in stream order. */
export type Recorded = ReadonlyMap<string, readonly CountedEvent[]>;

/** The recorded events of the messages of these events. */
export async function recordedBefore(
  engine: Engine,
  suspects: readonly DeliveryEvent[],
  frontier: Frontier,
): Promise<Recorded> {
  const recorded = new Map<string, readonly CountedEvent[]>();
  const oneOfEach = new Map(suspects.map((event) => [`${event.accountId} ${event.messageId}`, event]));
  const messages = [...oneOfEach.values()];
  metrics.recorderLookups.inc(messages.length);
  for (let from = 0; from < messages.length; from += limits.recorder.lookupMessagesMax) {
    const asked = messages.slice(from, from + limits.recorder.lookupMessagesMax);
    const events = await eventsOf(engine, asked, frontier);
    for (const [messageId, its] of Map.groupBy(events, (event) => event.messageId)) recorded.set(messageId, its);
  }
  return recorded;
}

async function eventsOf(
  engine: Engine,
  messages: readonly DeliveryEvent[],
  frontier: Frontier,
): Promise<readonly CountedEvent[]> {
  let oldestMs = Number.POSITIVE_INFINITY;
  let newestMs = 0;
  for (const { acceptedAtMs } of messages) {
    oldestMs = Math.min(oldestMs, acceptedAtMs);
    newestMs = Math.max(newestMs, acceptedAtMs);
  }
  const accountIds = [...new Set(messages.map(({ accountId }) => accountId))];
  const messageIds = [...new Set(messages.map(({ messageId }) => messageId))];
  // The time bounds exclude months and parts without these messages.
  const rows = await slowRows(
    engine,
    `SELECT event_id, message_id, kind, toUnixTimestamp64Milli(at), carrier, segment, segments, error,
       toUnixTimestamp64Milli(accepted_at), toUnixTimestamp64Milli(scheduled_at), hop
     FROM sms_events
     WHERE account_id IN {accountIds:Array(String)} AND message_id IN {messageIds:Array(String)}
       AND accepted_at >= fromUnixTimestamp64Milli({oldestMs:Int64})
       AND accepted_at <= fromUnixTimestamp64Milli({newestMs:Int64}) AND ${notBeyond}
     ORDER BY ${eventOrder}`,
    { ...frontier, accountIds, messageIds, oldestMs, newestMs },
  );
  return rows.map((row) => ({
    eventId: row[0] as EventId,
    messageId: row[1] as string,
    kind: row[2] as EventKind,
    atMs: row[3] as number,
    carrier: row[4] as string,
    segment: row[5] as number,
    segments: row[6] as number,
    error: row[7] === '' ? null : (row[7] as string),
    acceptedAtMs: row[8] as number,
    scheduledAtMs: row[9] === 0 ? null : (row[9] as number),
    hop: row[10] as number,
  }));
}

/**
 * The earliest acceptance that reports count: messages of a store that had events before it had counts are left out, so
 * that no count is taken back that was never added.
 */
export async function countedFromMs(engine: Engine): Promise<number> {
  const [row] = await slowRows(engine, 'SELECT toUnixTimestamp64Milli(max(at)) FROM counted_from');
  return row?.[0] as number;
}
