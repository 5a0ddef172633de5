// Migrates ClickHouse to the newest schema: the files of schema/ by number, each once, forward only, one process at a time
// (upgrade-lease.ts). A file is run statement by statement and may be repeated after a crash, so every statement must be
// idempotent (IF NOT EXISTS), and nothing that is in use may be dropped. `FILL <view>` is a statement of ours: it brings the
// table of sums that the view feeds to what the view makes of the counts that are there (fill.ts), exactly, and a recorder
// compares it once more. A statement with {from_ms} and {to_ms} fills a table of rows, some of which may be there twice
// after a crash, from recorded ones: it runs for each hour of some days, newest first. How long rows are kept is configuration (retention.ts).
import { readFileSync, readdirSync } from 'node:fs';
import { assert } from '../../platform/assert.ts';
import { type Clock, systemClock } from '../../platform/clock.ts';
import { limits } from '../../platform/limits.ts';
import { log } from '../../platform/log.ts';
import { type Engine, slowRows } from './engine.ts';
import { blocksOf, fillBlock, fillOf } from './fill.ts';
import { noteFill, openFills } from './schema-fills.ts';
import { type UpgradeLease, noOther } from './upgrade-lease.ts';

const folder = new URL('../schema/', import.meta.url);

const { schemaStatementMs } = limits.recorder;
const hourMs = 3_600_000;
/** What a table made from recorded rows is filled with. */
export const filledHours = 5 * 24;

type UpgradeOptions = {
  /** Missing: no other process can open the store. */
  readonly lease?: UpgradeLease;
  readonly clock?: Clock;
  /** Missing: those of this version. */
  readonly files?: readonly SchemaFile[];
};

/** Resolves with the versions applied now; none when the schema was current. */
export async function applySchema(engine: Engine, options: UpgradeOptions = {}): Promise<readonly number[]> {
  const { lease = noOther, clock = systemClock, files = schemaFiles() } = options;
  await engine.command(
    'CREATE TABLE IF NOT EXISTS schema_versions (version UInt32, name String, applied_at DateTime DEFAULT now()) ' +
      'ENGINE = MergeTree ORDER BY version',
  );
  await openFills(engine);
  if ((await missingOf(engine, files)).length === 0) return [];
  await lease.take();
  try {
    // Another process may have applied some of them meanwhile.
    const missing = await missingOf(engine, files);
    for (const file of files) {
      if (missing.includes(file)) await apply(engine, file, lease, clock);
      // Applied by a version that did not note what it filled.
      else for (const view of file.statements.flatMap(filledBy)) await noteFill(engine, file.version, view);
    }
    return missing.map(({ version }) => version);
  } finally {
    await lease.release();
  }
}

export type SchemaFile = { readonly version: number; readonly name: string; readonly statements: readonly string[] };

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

async function missingOf(engine: Engine, files: readonly SchemaFile[]): Promise<readonly SchemaFile[]> {
  const known = new Set((await slowRows(engine, 'SELECT version FROM schema_versions')).map(([version]) => version));
  return files.filter(({ version }) => !known.has(version));
}

async function apply(engine: Engine, file: SchemaFile, lease: UpgradeLease, clock: Clock): Promise<void> {
  const { version, name, statements } = file;
  for (const statement of statements) {
    for (const view of filledBy(statement)) await fillFrom(engine, version, view, lease);
    for (const each of await repeated(engine, statement, clock.nowMs())) {
      await lease.confirm();
      await engine.command(each, schemaStatementMs);
    }
  }
  await lease.confirm();
  await engine.insert('schema_versions (version, name)', Buffer.from(`${version}\t${name}\n`));
  log.info({ version, name }, 'ClickHouse schema applied');
}

/** The view of a FILL; none for other statements. */
function filledBy(statement: string): readonly string[] {
  const [, view] = /^FILL (\w+)$/.exec(statement) ?? [];
  return view === undefined ? [] : [view];
}

async function fillFrom(engine: Engine, version: number, view: string, lease: UpgradeLease): Promise<void> {
  await lease.confirm();
  await noteFill(engine, version, view);
  const fill = await fillOf(engine, view);
  const blocks = await blocksOf(engine, fill);
  for (const block of blocks.toReversed()) await fillBlock(engine, fill, block, () => lease.confirm());
}

/** The statement for each time that it fills. */
async function repeated(engine: Engine, statement: string, nowMs: number): Promise<readonly string[]> {
  if (filledBy(statement).length > 0) return [];
  if (!statement.includes('{from_ms}')) return [statement];
  return (await hasEvents(engine)) ? hourly(statement, nowMs) : [];
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
