// Settles messages without a receipt: one that was submitted, whose validity and grace are over and which has no
// terminal status, becomes `unknown`. It goes through all messages once, in the order in which they fall due, and
// continues after a restart where the last page ended. The event goes through the stream with an id that makes a
// second one harmless; a later receipt may still settle the message (fold.ts).
import type { KV } from '@nats-io/kv';
import type { EventWriter } from '../../cluster/bus/event-writer.ts';
import { type DeliveryEvent, deliveryEvent } from '../../model/delivery-event.ts';
import { hopsOfCopies, noCopies } from '../../model/copies.ts';
import { type MessageState, foldEvents } from '../../model/fold.ts';
import { isTerminal } from '../../model/status.ts';
import { type Cancel, type Clock, systemClock } from '../../platform/clock.ts';
import { RetryLater, messageOf } from '../../platform/errors.ts';
import { limits } from '../../platform/limits.ts';
import { log } from '../../platform/log.ts';
import { metrics } from '../../platform/telemetry.ts';
import { type RecordedEvents, eventsOfMany } from '../queries/recorded-events.ts';
import type { Unflushed } from '../recorder/batch.ts';
import type { UpToDate } from '../queries/up-to-date.ts';
import { Fenced } from '../fenced-entry.ts';
import type { Engine } from '../store/engine.ts';
import { type DuePosition, type ReaperCursor, takeOverCursor } from './reaper-cursor.ts';

type ReaperOptions = {
  readonly engine: Engine;
  readonly recorded: RecordedEvents;
  readonly unflushed: Unflushed;
  readonly upToDate: UpToDate;
  readonly writer: EventWriter;
  readonly bucket: () => Promise<KV>;
  /** When the oldest row was taken that is not in ClickHouse; null when there is none. */
  readonly heldSinceMs: () => number | null;
  readonly clock?: Clock;
};

export type Reaper = {
  /** Runs until no message is due; resolves with the number of settled messages. */
  run(): Promise<number>;
  stop(): void;
};

const { reaper: bounds } = limits;

export function startReaper(options: ReaperOptions): Reaper {
  const { engine, clock = systemClock } = options;
  let cursor: ReaperCursor | null = null;
  let sliceMs: number = bounds.sliceMsFirst;
  let running = false;
  let stopped = false;
  let cancelRetry: Cancel = () => {};

  /** Rows with a later timestamp may not be in ClickHouse yet; clocks of nodes differ. */
  function endMs(): number {
    const nowMs = clock.nowMs();
    const allRecordedMs = Math.min(nowMs, options.heldSinceMs() ?? nowMs);
    return allRecordedMs - limits.message.receiptGraceMs - limits.recorder.clockSkewMsMax;
  }

  function logBehind(): void {
    if (cursor === null) return;
    const dueMs = clock.nowMs() - limits.message.receiptGraceMs - limits.recorder.clockSkewMsMax;
    metrics.reaperBehind.set(Math.max(0, dueMs - cursor.position.dueMs) / 1_000);
  }

  async function run(): Promise<number> {
    const startMs = async () => (await firstDueMs(engine)) ?? endMs();
    cursor ??= await takeOverCursor(await options.bucket(), startMs, clock);
    let settled = 0;
    let toMs = endMs();
    while (!stopped && cursor.position.dueMs < toMs) {
      settled += await onePage(cursor, Math.min(toMs, cursor.position.dueMs + sliceMs));
      logBehind();
      // Messages that fell due meanwhile are left to the next run, unless there are as many as one run has.
      if (endMs() - toMs > bounds.everyMs) toMs = endMs();
    }
    logBehind();
    return settled;
  }

  async function onePage(at: ReaperCursor, toMs: number): Promise<number> {
    const beganMs = clock.monotonicMs();
    let overdue: readonly Overdue[];
    try {
      const limitMs = sliceMs > bounds.sliceMsMin ? bounds.statementMsMax : bounds.shortestSliceMsMax;
      overdue = await overduePage(engine, at.position, toMs, limitMs);
    } catch (error) {
      sliceMs = Math.max(bounds.sliceMsMin, sliceMs / 2);
      throw error;
    }
    const tookMs = clock.monotonicMs() - beganMs;
    const last = overdue.length === bounds.messagesPerPageMax ? overdue.at(-1) : undefined;
    // The rest of a full page's span is read again, and a long statement delays others.
    if (last !== undefined || tookMs > bounds.statementMsAimed) sliceMs = Math.max(bounds.sliceMsMin, sliceMs / 2);
    else if (tookMs < bounds.statementMsAimed / 4) sliceMs = Math.min(bounds.sliceMsMax, sliceMs * 2);
    let settled = 0;
    for (let from = 0; from < overdue.length && !stopped; from += limits.queries.messagesPerReadMax) {
      settled += await settle(options, clock, overdue.slice(from, from + limits.queries.messagesPerReadMax));
    }
    if (!stopped) await at.save(last ?? { dueMs: toMs, messageId: '' });
    return settled;
  }

  function begin(): void {
    logBehind();
    if (running || stopped) return;
    running = true;
    cancelRetry();
    run()
      .catch((error: unknown) => {
        if (stopped) return;
        if (error instanceof Fenced) return stop();
        log.warn({ error: messageOf(error) }, 'messages without a receipt could not be settled, trying again');
        cancelRetry = clock.after(bounds.retryMs, begin);
      })
      .finally(() => {
        running = false;
      });
  }

  const cancel: Cancel = clock.every(bounds.everyMs, begin);
  function stop(): void {
    stopped = true;
    cancel();
    cancelRetry();
  }
  return { run, stop };
}

/** The events that settle a message without a receipt: one, of a hedged message one for each copy, or none. */
export function receiptNeverCame(state: MessageState | null, nowMs: number): readonly DeliveryEvent[] {
  if (state === null || state.submittedAtMs === null || isTerminal(state.status)) return [];
  if (state.first.validUntilMs + limits.message.receiptGraceMs > nowMs) return [];
  const context = { ...state.first, carrier: state.carrier ?? state.first.carrier };
  const draft = { kind: 'unknown', atMs: nowMs, error: 'no_receipt' } as const;
  if (state.copies === noCopies) return [deliveryEvent(context, { ...draft, detail: 'no_receipt' })];
  return hopsOfCopies(state.copies).map((hop) =>
    deliveryEvent({ ...context, hop }, { ...draft, detail: `no_receipt.${hop}` }),
  );
}

/** Settles a page; requires every event of EVENTS, as the receipt may be there. Resolves when all is durable. */
async function settle(options: ReaperOptions, clock: Clock, overdue: readonly Overdue[]): Promise<number> {
  const { recorded, unflushed, upToDate, writer } = options;
  const looked = await upToDate.surely(() => eventsOfMany(recorded, unflushed, overdue, 'background'));
  if (looked.result === 'unavailable') throw new RetryLater(looked.detail, bounds.retryMs);
  if (!writer.hasCapacity) throw new RetryLater('EVENTS takes nothing', bounds.retryMs);
  const durable: Promise<boolean>[] = [];
  for (const state of looked.value.map(foldEvents)) {
    const events = receiptNeverCame(state, clock.nowMs());
    if (events.length === 0) continue;
    const writes = events.map((event) => new Promise<boolean>((resolve) => writer.write(event, resolve)));
    durable.push(Promise.all(writes).then((each) => each.every(Boolean)));
  }
  const settled = (await Promise.all(durable)).filter(Boolean).length;
  if (settled > 0) {
    metrics.reaped.inc(settled);
    log.info({ settled }, 'messages without a receipt became unknown');
  }
  if (settled < durable.length) throw new RetryLater('the process stops', bounds.retryMs);
  return settled;
}

type Overdue = DuePosition & { readonly accountId: string };

const { receiptGraceMs } = limits.message;

/** Candidates only: the fold decides whether a message is settled (of two segments, or copies, one may be delivered). */
const unsettled = `countIf(kind = 'submitted') > 0
  AND (countIf(kind IN ('undelivered', 'expired', 'rejected', 'unknown', 'failed', 'blocked', 'canceled')) = 0
    OR countIf(kind = 'hedged') > 0)
  AND countIf(kind = 'delivered' AND segment = 0) = 0
  AND uniqExactIf(segment, kind = 'delivered') < max(segments)`;

const time = (name: string, more = 0) => `fromUnixTimestamp64Milli({${name}:Int64} + ${more})`;

/**
 * The next candidates after `position` due up to `toMs`; with a full page, the last one is the next position. Due is the
 * end of the validity, or, for a submit recorded later than that plus the grace, the time of recording minus the grace: so
 * the cursor skips no message, whatever was down and for how long.
 */
async function overduePage(
  engine: Engine,
  position: DuePosition,
  toMs: number,
  limitMs: number,
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
async function firstDueMs(engine: Engine): Promise<number | null> {
  const [row] = await engine.rows(
    'SELECT count(), toUnixTimestamp64Milli(min(accepted_at)) FROM sms_events',
    {},
    bounds.shortestSliceMsMax,
    'background',
  );
  return row === undefined || Number(row[0]) === 0 ? null : (row[1] as number) - 1;
}
