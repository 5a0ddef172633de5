// Migrates ClickHouse to the newest schema: the files of schema/ by number, each once, forward only. A file is run
// statement by statement and may be repeated after a crash, so every statement must be idempotent (IF NOT EXISTS). A
// statement with {from_ms} and {to_ms} fills a table from recorded rows: it runs for each hour of some days, newest
// first. One with {day} runs for each day that the first table after FROM has in its column slot. How long rows are kept is configuration (retention.ts).
import { readFileSync, readdirSync } from 'node:fs';
import { assert } from '../../platform/assert.ts';
import { type Clock, systemClock } from '../../platform/clock.ts';
import { limits } from '../../platform/limits.ts';
import { log } from '../../platform/log.ts';
import { type Engine, slowRows } from './engine.ts';

const folder = new URL('../schema/', import.meta.url);

const { schemaStatementMs } = limits.recorder;
const hourMs = 3_600_000;
/** What a table made from recorded rows is filled with. */
export const filledHours = 5 * 24;

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
      for (const each of await repeated(engine, statement, clock.nowMs()))
        await engine.command(each, schemaStatementMs);
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

/** Whether an event was ever recorded. ClickHouse answers it from metadata. */
export async function hasEvents(engine: Engine): Promise<boolean> {
  const [row] = await slowRows(engine, 'SELECT toUInt64(count()) > 0 FROM sms_events');
  return Number(row?.[0]) > 0;
}

/** The statement for each time that it fills. */
async function repeated(engine: Engine, statement: string, nowMs: number): Promise<readonly string[]> {
  if (statement.includes('{from_ms}')) return (await hasEvents(engine)) ? hourly(statement, nowMs) : [];
  if (!statement.includes('{day}')) return [statement];
  const [, table = ''] = /FROM (\w+)/.exec(statement) ?? [];
  const days = await slowRows(engine, `SELECT DISTINCT toString(toDate(slot)) FROM ${table}`);
  return days.map(([day]) => statement.replace('{day}', String(day)));
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
