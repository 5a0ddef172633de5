// Settles what no receipt ever settled: a message that was submitted, whose validity and grace are over and which has
// no terminal status, becomes `unknown`. The event goes through the stream like any other, with an id that makes a
// second telling harmless; a receipt that comes even later may still settle the message (fold.ts).
import type { EventWriter } from '../cluster/bus/event-writer.ts';
import { type DeliveryEvent, deliveryEvent } from '../model/delivery-event.ts';
import { type MessageState, foldEvents } from '../model/fold.ts';
import { isTerminal } from '../model/status.ts';
import { type Cancel, type Clock, systemClock } from '../platform/clock.ts';
import { messageOf } from '../platform/errors.ts';
import { limits } from '../platform/limits.ts';
import { log } from '../platform/log.ts';
import { metrics } from '../platform/telemetry.ts';
import type { RecordedEvents } from './queries/recorded-events.ts';
import type { Unflushed } from './queries/unflushed.ts';
import type { Engine } from './store/engine.ts';

export type ReaperOptions = {
  readonly engine: Engine;
  readonly recorded: RecordedEvents;
  readonly unflushed: Unflushed;
  readonly writer: EventWriter;
  readonly clock?: Clock;
};

export type Reaper = {
  /** One run now; resolves with the number of messages settled. */
  run(): Promise<number>;
  stop(): void;
};

const runsPerFullLook = 60;

export function startReaper(options: ReaperOptions): Reaper {
  const { clock = systemClock } = options;
  /** Everything whose time ended before this was looked at; 0 looks at the whole lookback again. */
  let doneToMs = 0;
  let runs = 0;
  let running = false;

  async function run(): Promise<number> {
    const toMs = clock.nowMs() - limits.message.receiptGraceMs;
    // Now and then all of it: after an outage of ClickHouse events may be recorded long after their time.
    if (runs % runsPerFullLook === 0) doneToMs = 0;
    runs += 1;
    const fromMs = Math.max(doneToMs - limits.reaper.everyMs, toMs - limits.reaper.lookbackMs);
    const overdue = await overdueMessages(options.engine, fromMs, toMs);
    let settled = 0;
    for (let at = 0; at < overdue.length; at += limits.queries.messagesPerReadMax) {
      settled += await settle(options, clock, overdue.slice(at, at + limits.queries.messagesPerReadMax));
    }
    const full = overdue.length === limits.reaper.messagesPerRunMax;
    doneToMs = full ? (overdue.at(-1) as Overdue).validUntilMs : toMs;
    return settled;
  }

  const cancel: Cancel = clock.every(limits.reaper.everyMs, () => {
    if (running) return;
    running = true;
    run()
      .catch((error: unknown) => log.warn({ error: messageOf(error) }, 'the reaper could not look, it tries again'))
      .finally(() => {
        running = false;
      });
  });
  return { run, stop: cancel };
}

/** The event that settles a message without a receipt, or null when it needs none. */
export function receiptNeverCame(state: MessageState | null, nowMs: number): DeliveryEvent | null {
  if (state === null || state.submittedAtMs === null || isTerminal(state.status)) return null;
  if (state.first.validUntilMs + limits.message.receiptGraceMs > nowMs) return null;
  const context = { ...state.first, carrier: state.carrier ?? state.first.carrier };
  return deliveryEvent(context, { kind: 'unknown', atMs: nowMs, error: 'no_receipt', detail: 'no_receipt' });
}

type Overdue = { readonly accountId: string; readonly messageId: string; readonly validUntilMs: number };

/** Candidates only: whether a message is settled is the fold's to say (of two segments one may be delivered). */
async function overdueMessages(engine: Engine, fromMs: number, toMs: number): Promise<readonly Overdue[]> {
  const rows = await engine.rows(
    `SELECT account_id, message_id, toUnixTimestamp64Milli(max(valid_until)) AS valid_ms FROM sms_events
     WHERE valid_until > fromUnixTimestamp64Milli({fromMs:Int64}) AND valid_until <= fromUnixTimestamp64Milli({toMs:Int64})
     GROUP BY account_id, message_id
     HAVING countIf(kind = 'submitted') > 0
       AND countIf(kind IN ('undelivered', 'expired', 'rejected', 'unknown', 'failed', 'blocked', 'canceled')) = 0
       AND countIf(kind = 'delivered' AND segment = 0) = 0
       AND uniqExactIf(segment, kind = 'delivered') < max(segments)
     ORDER BY valid_ms LIMIT {messagesMax:UInt32}
     SETTINGS max_threads = 1, optimize_aggregation_in_order = 1`,
    { fromMs, toMs, messagesMax: limits.reaper.messagesPerRunMax },
    limits.recorder.insertTimeoutMs,
  );
  return rows.map(([accountId, messageId, validUntilMs]) => ({
    accountId: accountId as string,
    messageId: messageId as string,
    validUntilMs: validUntilMs as number,
  }));
}

async function settle(options: ReaperOptions, clock: Clock, overdue: readonly Overdue[]): Promise<number> {
  const { recorded, unflushed, writer } = options;
  const held = new Map(overdue.map(({ messageId }) => [messageId, unflushed.eventsOf(messageId)]));
  const rows = await recorded.ofMany(overdue);
  const durable: Promise<boolean>[] = [];
  for (const { messageId } of overdue) {
    const state = foldEvents([...(rows.get(messageId) ?? []), ...(held.get(messageId) ?? [])]);
    const event = receiptNeverCame(state, clock.nowMs());
    if (event === null || !writer.hasRoom) continue;
    durable.push(new Promise((resolve) => writer.write(event, resolve)));
  }
  const settled = (await Promise.all(durable)).filter(Boolean).length;
  if (settled > 0) {
    metrics.reaped.inc(settled);
    log.info({ settled }, 'messages without a receipt became unknown');
  }
  return settled;
}
