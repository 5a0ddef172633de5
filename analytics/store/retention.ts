// How long ClickHouse keeps delivery events. It is configuration (retention.history_days), not schema, so it is set at
// every start; ClickHouse drops older parts by itself. The hourly counts stay: they contain no personal data.
import { assert } from '../../platform/assert.ts';
import { limits } from '../../platform/limits.ts';
import type { Engine } from './engine.ts';
import { filledHours } from './schema.ts';

/** A carrier sends receipts within the validity, and a parked receipt may then wait for this store. */
export const submitsKeptMs =
  limits.message.validitySecondsMax * 1_000 + limits.message.receiptGraceMs + limits.carrier.parkedReceiptAgeMsMax;

assert(submitsKeptMs <= filledHours * 3_600_000, 'receipts may come for longer than sms_submits was filled for');

/** Changes the table's metadata only; no part is rewritten, now or later. */
export async function keepHistoryFor(engine: Engine, days: number): Promise<void> {
  await engine.command('ALTER TABLE sms_events MODIFY SETTING ttl_only_drop_parts = 1');
  await engine.command(
    `ALTER TABLE sms_events MODIFY TTL toDateTime(accepted_at) + INTERVAL ${Math.trunc(days)} DAY
     SETTINGS materialize_ttl_after_modify = 0`,
  );
  const submitHours = Math.min(Math.trunc(days) * 24, Math.ceil(submitsKeptMs / 3_600_000));
  await engine.command(
    `ALTER TABLE sms_submits MODIFY TTL toDateTime(at) + INTERVAL ${submitHours} HOUR
     SETTINGS materialize_ttl_after_modify = 0`,
  );
}
