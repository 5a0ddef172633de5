// Which ids ClickHouse has already: recent ones, to fill the memory after a start, and those of messages older than the
// memory. Rows of the range about to be inserted (perhaps again) do not count: they are recognised by the insert's
// token, because without them the repeated insert would be a different one.
import { limits } from '../../platform/limits.ts';
import { metrics } from '../../platform/telemetry.ts';
import type { Engine } from '../store/engine.ts';
import type { Suspect } from './batch.ts';
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
  const rows = await engine.rows(
    `SELECT event_id, toUnixTimestamp64Milli(recorded_at) AS recorded_ms FROM sms_events
     WHERE recorded_at >= fromUnixTimestamp64Milli({sinceMs:Int64}) AND ${notBeyond}
     ORDER BY recorded_at DESC LIMIT {refillMax:UInt32}`,
    { ...frontier, sinceMs, refillMax },
    limits.recorder.insertTimeoutMs,
  );
  // With a full result, some rows of its oldest time may be missing.
  const coversFromMs = rows.length < refillMax ? sinceMs : (rows.at(-1)?.[1] as number) + 1;
  const seen = new SeenIds(coversFromMs);
  for (const [eventId] of rows) seen.add(eventId as string, nowMs);
  return seen;
}

/** The rows of the suspects that are recorded. */
export async function recordedBefore(
  engine: Engine,
  suspects: readonly Suspect[],
  frontier: Frontier,
): Promise<ReadonlySet<number>> {
  const recorded = new Set<number>();
  for (let from = 0; from < suspects.length; ) {
    const asked: Suspect[] = [];
    const messageIds = new Set<string>();
    for (; from < suspects.length && messageIds.size < limits.recorder.lookupMessagesMax; from += 1) {
      const suspect = suspects[from] as Suspect;
      asked.push(suspect);
      messageIds.add(suspect.event.messageId);
    }
    metrics.recorderLookups.inc(messageIds.size);
    const ids = await idsOf(engine, asked, [...messageIds], frontier);
    for (const { row, event } of asked) if (ids.has(event.eventId)) recorded.add(row);
  }
  return recorded;
}

async function idsOf(
  engine: Engine,
  suspects: readonly Suspect[],
  messageIds: readonly string[],
  frontier: Frontier,
): Promise<ReadonlySet<string>> {
  let oldestMs = Number.POSITIVE_INFINITY;
  let newestMs = 0;
  for (const { event } of suspects) {
    oldestMs = Math.min(oldestMs, event.acceptedAtMs);
    newestMs = Math.max(newestMs, event.acceptedAtMs);
  }
  const accountIds = [...new Set(suspects.map(({ event }) => event.accountId))];
  // The time bounds exclude months and parts without these messages.
  const rows = await engine.rows(
    `SELECT event_id FROM sms_events
     WHERE account_id IN {accountIds:Array(String)} AND message_id IN {messageIds:Array(String)}
       AND accepted_at >= fromUnixTimestamp64Milli({oldestMs:Int64})
       AND accepted_at <= fromUnixTimestamp64Milli({newestMs:Int64}) AND ${notBeyond}`,
    { ...frontier, accountIds, messageIds, oldestMs, newestMs },
    limits.recorder.insertTimeoutMs,
  );
  return new Set(rows.map(([eventId]) => eventId as string));
}
