// How long rows stay in ClickHouse, as TTLs of the tables. A part is dropped as a whole when its last row has expired,
// and never rewritten for that. A changed setting also applies to the parts there are: their expiry is calculated again,
// once, without their rows being rewritten. What a setting cuts out of rows that stay is trim.ts.
import { linksKeptDays } from '../../cluster/bus/streams.ts';
import { assert } from '../../platform/assert.ts';
import { linkDaysDefault } from '../../platform/limits-streams.ts';
import { limits } from '../../platform/limits.ts';
import { log } from '../../platform/log.ts';
import type { Engine } from './engine.ts';
import { mutate } from './mutate.ts';
import { filledHours } from './schema.ts';

/** Days; heliograph.yaml: retention. */
export type KeptDays = {
  readonly historyDays: number;
  readonly testHistoryDays: number;
  readonly clicksDays: number;
};

const hourMs = 3_600_000;

/** A carrier sends receipts within the validity, and a parked receipt may then wait for this store. */
export const submitsKeptMs =
  limits.message.validitySecondsMax * 1_000 + limits.message.receiptGraceMs + limits.carrier.parkedReceiptAgeMsMax;

assert(submitsKeptMs <= filledHours * hourMs, 'receipts may come for longer than sms_submits was filled for');
assert(
  submitsKeptMs < limits.retention.clearDaysMin * 24 * hourMs,
  'a receipt would be compared with a number that is cut to its last digits',
);

/**
 * Resolves when every table keeps its rows that long. The counts of reports stay: they contain no recipients. `linkDays`: how
 * long a short link leads on.
 */
export async function keepRowsFor(engine: Engine, days: KeptDays, linkDays = linkDaysDefault): Promise<void> {
  const { historyDays, testHistoryDays, clicksDays } = days;
  const submitHours = Math.min(historyDays * 24, Math.ceil(submitsKeptMs / hourMs));
  const ends: Readonly<Record<string, string>> = {
    sms_events: `toDateTime(accepted_at) + toIntervalDay(if(livemode, ${historyDays}, ${testHistoryDays}))`,
    // Clicks are counted with the hour in which their message was accepted. While a link leads on, a click on it needs to find
    // its message: without it, it would be one on a code that was never sent, a scanner's.
    link_codes: `toDateTime(accepted_at) + toIntervalDay(${Math.max(clicksDays, linksKeptDays(linkDays))})`,
    link_clicks: `toDateTime(accepted_at) + toIntervalDay(${clicksDays})`,
    otps: `toDateTime(started_at) + toIntervalDay(${historyDays})`,
    otp_messages: `toDateTime(accepted_at) + toIntervalDay(${historyDays})`,
    // They have prefixes of numbers, so they go with what they were made from.
    otp_summaries: `ten_minutes + toIntervalDay(${historyDays})`,
    otp_late_changes: `ten_minutes + toIntervalDay(${historyDays})`,
    otp_guard_decisions: `toDateTime(at) + toIntervalDay(${historyDays})`,
    sms_submits: `toDateTime(at) + toIntervalHour(${submitHours})`,
  };
  for (const [table, end] of Object.entries(ends)) await expire(engine, table, end);
}

/** The table's comment says what applies to its parts, so that a start with the same settings changes nothing. */
async function expire(engine: Engine, table: string, end: string): Promise<void> {
  const comment = `kept until ${end}`;
  const [row] = await engine.rows(
    'SELECT comment FROM system.tables WHERE database = currentDatabase() AND name = {table:String}',
    { table },
  );
  if (row?.[0] === comment) return;
  // Metadata only.
  await engine.command(
    `ALTER TABLE ${table} MODIFY SETTING ttl_only_drop_parts = 1, materialize_ttl_recalculate_only = 1`,
  );
  await engine.command(`ALTER TABLE ${table} MODIFY TTL ${end} SETTINGS materialize_ttl_after_modify = 0`);
  await mutate(engine, table, 'MATERIALIZE TTL');
  await engine.command(`ALTER TABLE ${table} MODIFY COMMENT '${comment}'`);
  log.info({ table, end }, 'rows are kept until then');
}
