// Migrates ClickHouse to the newest schema: the files of schema/ by number, each once, forward only. A file is run
// statement by statement and may be repeated after a crash, so every statement must be idempotent (IF NOT EXISTS). A
// statement with {from_ms} and {to_ms} fills a table from recorded rows: it runs for each hour of some days, newest
// first. How long events are kept is configuration and set at every start; ClickHouse drops older parts by itself.
import { readFileSync, readdirSync } from 'node:fs';
import { assert } from '../../platform/assert.ts';
import { type Clock, systemClock } from '../../platform/clock.ts';
import { log } from '../../platform/log.ts';
import type { Engine } from './engine.ts';
import { limits } from '../../platform/limits.ts';

const folder = new URL('../schema/', import.meta.url);

const hourMs = 3_600_000;
const filledHours = 5 * 24;

/** Resolves with the versions applied now; none when the schema was current. */
export async function applySchema(engine: Engine, clock: Clock = systemClock): Promise<readonly number[]> {
  await engine.command(
    'CREATE TABLE IF NOT EXISTS schema_versions (version UInt32, name String, applied_at DateTime DEFAULT now()) ' +
      'ENGINE = MergeTree ORDER BY version',
  );
  const known = new Set((await engine.rows('SELECT version FROM schema_versions')).map(([version]) => version));
  const missing = schemaFiles().filter(({ version }) => !known.has(version));
  for (const { version, name, statements } of missing) {
    for (const statement of statements) {
      if (!statement.includes('{from_ms}')) await engine.command(statement);
      else if (await hasEvents(engine)) for (const each of hourly(statement, clock.nowMs())) await engine.command(each);
    }
    await engine.insert('schema_versions (version, name)', Buffer.from(`${version}\t${name}\n`));
    log.info({ version, name }, 'ClickHouse schema applied');
  }
  return missing.map(({ version }) => version);
}

type SchemaFile = { readonly version: number; readonly name: string; readonly statements: readonly string[] };

export function schemaFiles(): readonly SchemaFile[] {
  return readdirSync(folder)
    .filter((name) => name.endsWith('.sql'))
    .toSorted()
    .map((name, at) => {
      const version = Number.parseInt(name, 10);
      assert(version === at + 1, `schema files are numbered without holes: ${name} is in place ${at + 1}`);
      return { version, name, statements: statementsOf(readFileSync(new URL(name, folder), 'utf8')) };
    });
}

/** ClickHouse answers it from metadata. */
async function hasEvents(engine: Engine): Promise<boolean> {
  const [row] = await engine.rows('SELECT toUInt64(count()) > 0 FROM sms_events');
  return Number(row?.[0]) > 0;
}

/** The newest hour extends into the future: other nodes' clocks may be ahead. */
function hourly(statement: string, nowMs: number): readonly string[] {
  return Array.from({ length: filledHours + 1 }, (_, hoursAgo) => {
    const fromMs = Math.trunc(nowMs) - hoursAgo * hourMs;
    return statement.replace('{from_ms}', String(fromMs)).replace('{to_ms}', String(fromMs + hourMs));
  });
}

/** Comments are whole lines; a semicolon ends a statement (no string here contains one). */
function statementsOf(sql: string): string[] {
  return sql
    .replaceAll(/^--.*$/gm, '')
    .split(';')
    .map((statement) => statement.trim())
    .filter((statement) => statement !== '');
}

/** A carrier sends receipts within the validity, and a parked receipt may then wait for this store. */
export const submitsKeptMs =
  limits.message.validitySecondsMax * 1_000 + limits.message.receiptGraceMs + limits.carrier.parkedReceiptAgeMsMax;

assert(submitsKeptMs <= filledHours * 3_600_000, 'receipts may come for longer than sms_submits was filled for');

/** Changes metadata only; no part is rewritten, now or later. The counts of reports stay: they contain no recipients. */
export async function keepHistoryFor(engine: Engine, days: number): Promise<void> {
  await engine.command('ALTER TABLE sms_events MODIFY SETTING ttl_only_drop_parts = 1');
  await engine.command(
    `ALTER TABLE sms_events MODIFY TTL toDateTime(accepted_at) + INTERVAL ${Math.trunc(days)} DAY
     SETTINGS materialize_ttl_after_modify = 0`,
  );
  // Clicks are counted with the hour in which their message was accepted.
  for (const table of ['link_codes', 'link_clicks']) {
    await engine.command(
      `ALTER TABLE ${table} MODIFY TTL toDateTime(accepted_at) + INTERVAL ${Math.trunc(days)} DAY
       SETTINGS materialize_ttl_after_modify = 0`,
    );
  }
  const startOf = { otps: 'started_at', otp_guard_decisions: 'at', otp_messages: 'accepted_at' };
  for (const [table, column] of Object.entries(startOf)) {
    await engine.command(
      `ALTER TABLE ${table} MODIFY TTL toDateTime(${column}) + INTERVAL ${Math.trunc(days)} DAY
       SETTINGS materialize_ttl_after_modify = 0`,
    );
  }
  const submitHours = Math.min(Math.trunc(days) * 24, Math.ceil(submitsKeptMs / 3_600_000));
  await engine.command(
    `ALTER TABLE sms_submits MODIFY TTL toDateTime(at) + INTERVAL ${submitHours} HOUR
     SETTINGS materialize_ttl_after_modify = 0`,
  );
}
