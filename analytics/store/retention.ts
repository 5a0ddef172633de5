// How long rows stay in ClickHouse, as TTLs of the tables. A part is dropped as a whole when its last row has expired,
// and never rewritten for that. A changed setting also applies to the parts there are: their expiry is calculated again,
// once, without their rows being rewritten. Rows of test keys that share parts with live ones are deleted once a day. What a
// setting cuts out of rows that stay is trim.ts.
import { linksKeptDays } from '../../cluster/bus/streams.ts';
import { assert } from '../../platform/assert.ts';
import type { Clock } from '../../platform/clock.ts';
import { linkDaysDefault } from '../../platform/limits-streams.ts';
import { limits } from '../../platform/limits.ts';
import { log } from '../../platform/log.ts';
import { type Engine, slowRows } from './engine.ts';
import { mutate } from './mutate.ts';
import { filledHours } from './schema.ts';

/** Days; heliograph.yaml: retention. */
export type KeptDays = {
  readonly historyDays: number;
  readonly testHistoryDays: number;
  readonly clicksDays: number;
};

const hourMs = 3_600_000;
const daySeconds = 86_400;

/** A carrier sends receipts within the validity, and a parked receipt may then wait for this store. */
export const submitsKeptMs =
  limits.message.validitySecondsMax * 1_000 + limits.message.receiptGraceMs + limits.carrier.parkedReceiptAgeMsMax;

assert(submitsKeptMs <= filledHours * hourMs, 'receipts may come for longer than sms_submits was filled for');
assert(
  submitsKeptMs < limits.retention.clearDaysMin * 24 * hourMs,
  'a receipt would be compared with a number that is cut to its last digits',
);

/** How long a table keeps its rows of live and of test keys, from the time in the column `since` on. */
type Lifetime = { readonly since: string; readonly liveDays: number; readonly testDays: number };

/** By table. The counts of reports stay: they contain no recipients. */
function lifetimesOf(days: KeptDays, linkDays: number): Readonly<Record<string, Lifetime>> {
  const { historyDays, testHistoryDays, clicksDays } = days;
  // A part with rows of both modes goes with the last of them: test rows may not keep live ones.
  const shared = (since: string, liveDays: number): Lifetime => {
    return { since, liveDays, testDays: Math.min(liveDays, testHistoryDays) };
  };
  const history = (since: string) => shared(since, historyDays);
  // Clicks are counted with the hour in which their message was accepted.
  const clicks = shared('accepted_at', clicksDays);
  const linkKeptDays = linksKeptDays(linkDays);
  return {
    sms_events: { since: 'accepted_at', liveDays: historyDays, testDays: testHistoryDays },
    // While a link leads on, a click on it needs to find its message: without it, it would be one on a code that was never
    // sent, a scanner's.
    link_codes: {
      ...clicks,
      liveDays: Math.max(clicks.liveDays, linkKeptDays),
      testDays: Math.max(clicks.testDays, linkKeptDays),
    },
    link_clicks: clicks,
    otps: history('started_at'),
    otp_messages: history('accepted_at'),
    // They have prefixes of numbers, so they go with what they were made from.
    otp_summaries: history('ten_minutes'),
    otp_late_changes: history('ten_minutes'),
    otp_guard_decisions: history('at'),
  };
}

/** Resolves when every table keeps its rows that long. `linkDays`: how long a short link leads on. */
export async function keepRowsFor(engine: Engine, days: KeptDays, linkDays = linkDaysDefault): Promise<void> {
  for (const [table, { since, liveDays, testDays }] of Object.entries(lifetimesOf(days, linkDays))) {
    await expire(engine, table, `toDateTime(${since}) + toIntervalDay(if(livemode, ${liveDays}, ${testDays}))`);
  }
  const submitHours = Math.min(days.historyDays * 24, Math.ceil(submitsKeptMs / hourMs));
  await expire(engine, 'sms_submits', `toDateTime(at) + toIntervalHour(${submitHours})`);
}

/**
 * In tables whose partitions have rows of both modes a part stays as long as its live rows. The test rows of such a partition, a
 * month, are deleted here when all of them have expired: its parts are rewritten once. Resolves with what was changed.
 */
export async function dropTestRows(
  engine: Engine,
  days: KeptDays,
  linkDays: number,
  { clock, signal }: { readonly clock: Clock; readonly signal?: AbortSignal | undefined },
): Promise<readonly string[]> {
  const changed: string[] = [];
  for (const [table, { since, testDays }] of Object.entries(lifetimesOf(days, linkDays))) {
    if (table === 'sms_events') continue;
    const partitions = await slowRows(
      engine,
      `SELECT _partition_id FROM ${table} WHERE NOT livemode GROUP BY _partition_id
       HAVING toUnixTimestamp(toDateTime(max(${since}))) < {dueS:UInt32} ORDER BY 1 SETTINGS max_threads = 1`,
      { dueS: Math.max(0, Math.floor(clock.nowMs() / 1_000) - testDays * daySeconds) },
    );
    for (const [id] of partitions) {
      await mutate(engine, table, `DELETE IN PARTITION ID '${String(id)}' WHERE NOT livemode`, { clock, signal });
      changed.push(`${table} ${String(id)}`);
    }
  }
  if (changed.length > 0) log.info({ changed }, 'rows of test keys have expired');
  return changed;
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
