// How long ClickHouse keeps delivery events. The bound is configuration (retention.history_days), not schema, so it is
// set at every start; ClickHouse drops what is older by itself, a whole part at a time. The hourly counts stay: they
// name nobody.
import type { Engine } from './engine.ts';

/** Only the table's description changes; nothing is rewritten, neither at the start nor when time passes. */
export async function keepHistoryFor(engine: Engine, days: number): Promise<void> {
  await engine.command('ALTER TABLE sms_events MODIFY SETTING ttl_only_drop_parts = 1');
  await engine.command(
    `ALTER TABLE sms_events MODIFY TTL toDateTime(accepted_at) + INTERVAL ${Math.trunc(days)} DAY
     SETTINGS materialize_ttl_after_modify = 0`,
  );
}
