// Counts what is in ClickHouse after a run: the product is stopped by then, because chDB's directory has one
// owner at a time.
import { openEngine } from '../../analytics/store/engine.ts';
import { clickhouseDir } from '../../analytics/store/location.ts';
import type { EventKind } from '../../model/delivery-event.ts';

/** Rows of each kind in sms_events. */
export async function countEvents(dataDir: string): Promise<Record<EventKind, number>> {
  const engine = openEngine({ clickhouseUrl: null, dataDir: clickhouseDir(dataDir) });
  try {
    const rows = await engine.rows('SELECT kind, toUInt32(count()) FROM sms_events GROUP BY kind');
    return Object.fromEntries(rows.map(([kind, count]) => [kind, Number(count)])) as Record<EventKind, number>;
  } finally {
    await engine.close();
  }
}
