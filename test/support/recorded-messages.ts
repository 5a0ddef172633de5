// The content of ClickHouse after a run. The system must be stopped: chDB's directory has one owner at a time. Events
// are folded here with the product's own fold, but counted by plain SQL.
import { openEngine, clickhouseDir } from '../../analytics/store/engine.ts';
import { eventColumns, eventOfRow, eventOrder } from '../../analytics/store/event-row.ts';
import type { DeliveryEvent, EventKind } from '../../model/delivery-event.ts';
import { type MessageState, foldEvents } from '../../model/fold.ts';
import { expectExactCounts } from './recount.ts';

export type RecordedMessages = {
  /** Rows of each kind. */
  readonly rows: Readonly<Partial<Record<EventKind, number>>>;
  /** Rows that are there more than once: must be 0. */
  readonly repeatedRows: number;
  /** Messages by status as reports count them, which was compared with the events. */
  readonly counted: Readonly<Record<string, number>>;
  /** By message id. */
  readonly messages: ReadonlyMap<string, MessageState>;
};

/** Rows of each kind in sms_events. */
export async function countEvents(dataDir: string): Promise<Record<EventKind, number>> {
  return withEngine(dataDir, async (engine) => {
    const rows = await engine.rows('SELECT kind, toUInt32(count()) FROM sms_events GROUP BY kind', {}, 30_000);
    return Object.fromEntries(rows.map(([kind, count]) => [kind, Number(count)])) as Record<EventKind, number>;
  });
}

export async function recordedMessages(dataDir: string): Promise<RecordedMessages> {
  return withEngine(dataDir, async (engine) => {
    const kinds = await engine.rows('SELECT kind, toUInt32(count()) FROM sms_events GROUP BY kind', {}, 30_000);
    const [totals] = await engine.rows(
      'SELECT toUInt32(count()), toUInt32(uniqExact(event_id)) FROM sms_events',
      {},
      30_000,
    );
    const events = await engine.rows(`SELECT ${eventColumns} FROM sms_events ORDER BY ${eventOrder}`, {}, 30_000);
    const byMessage = Map.groupBy(events.map(eventOfRow), (event: DeliveryEvent) => event.messageId);
    const messages = new Map<string, MessageState>();
    for (const [id, its] of byMessage) messages.set(id, foldEvents(its) as MessageState);
    const [rowsTotal, distinct] = (totals ?? []).map(Number) as [number, number];
    return {
      rows: Object.fromEntries(kinds.map(([kind, count]) => [kind, Number(count)])),
      repeatedRows: rowsTotal - distinct,
      counted: await expectExactCounts((sql) => engine.rows(sql, {}, 30_000)),
      messages,
    };
  });
}

async function withEngine<T>(dataDir: string, work: (engine: ReturnType<typeof openEngine>) => Promise<T>): Promise<T> {
  const engine = openEngine({ clickhouseUrl: null, dataDir: clickhouseDir(dataDir) });
  try {
    return await work(engine);
  } finally {
    await engine.close();
  }
}
