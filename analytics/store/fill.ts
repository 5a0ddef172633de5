// Brings a table of sums to what its view makes of the counts that are there, because a view is fed by later inserts only. What
// the view's SELECT says now is compared with what the table has, and the differences are inserted. So a repeat adds nothing,
// whatever an interrupted attempt had added, and what is there twice is taken back. While the counts are being
// written it may be wrong by what is under way, so a recorder does it once more (recorder/fill-check.ts).
import { createHash } from 'node:crypto';
import { assert } from '../../platform/assert.ts';
import { limits } from '../../platform/limits.ts';
import { type Engine, slowRows } from './engine.ts';

/** A table that a view feeds. The names are those of the schema. */
export type Fill = {
  readonly view: string;
  readonly table: string;
  /** What the view reads. */
  readonly source: string;
  readonly keys: readonly string[];
  readonly sums: readonly string[];
  /** Of the view, over rows of the source for which this condition holds. */
  readonly select: (condition: string) => string;
};

/** The tables with a `slot` that a recorder writes, each row once. A filled table is made from one of them. */
export const fillSources = {
  events: ['message_counts', 'latency_counts'],
  clicks: ['click_counts'],
} as const;
const sources: readonly string[] = [...fillSources.events, ...fillSources.clicks];

/** The longest time slot of a filled table: what is in one of these times is made from what the source has in it. */
const blockS = 6 * 3_600;
const { fillRowsMax, insertTimeoutMs } = limits.recorder;
const repeatsMax = 4;
const name = '(?:`[^`]+`|\\w+)';
const from = new RegExp(`\\bFROM (?:${name}\\.)?(${name})`);

/** Reads from the store what feeds what: also a view that a later version has changed. */
export async function fillOf(engine: Engine, view: string): Promise<Fill> {
  const [made] = await describe(engine, view, 'as_select, create_table_query');
  const [select = '', create = ''] = made ?? [];
  const [, source = ''] = from.exec(select) ?? [];
  const [, table = ''] = new RegExp(`^CREATE MATERIALIZED VIEW \\S+ TO (?:${name}\\.)?(${name})`).exec(create) ?? [];
  const [[kind = '', sorted = ''] = []] = await describe(engine, table, 'engine, sorting_key');
  assert(sources.includes(source), `${view} reads a table that a recorder writes`);
  assert(kind.includes('SummingMergeTree'), `${view} feeds a table of sums: only there a difference can be inserted`);
  const columns = (await describeColumns(engine, view)).map(([column = '']) => column);
  const keys = sorted.split(', ');
  assert(
    keys.every((key) => columns.includes(key)),
    `${view} has every column of the key of ${table}`,
  );
  return {
    ...{ view, table, source, keys },
    sums: columns.filter((column) => !keys.includes(column)),
    select: (condition) => select.replace(from, `FROM (SELECT * FROM ${source} WHERE ${condition}) AS ${source}`),
  };
}

/** The times in which the source or the table has rows, ascending: beginnings in seconds since the epoch. */
export async function blocksOf(engine: Engine, { source, table }: Fill): Promise<readonly number[]> {
  const ofTable = (each: string) =>
    `SELECT DISTINCT intDiv(toUnixTimestamp(slot), ${blockS}) * ${blockS} AS block FROM ${each}`;
  const rows = await slowRows(
    engine,
    `SELECT DISTINCT toUInt32(block) FROM (${ofTable(source)} UNION ALL ${ofTable(table)}) ORDER BY 1 SETTINGS max_threads = 1`,
  );
  return rows.map(([block]) => Number(block));
}

/** Brings one of these times of the table to what the source has in it; `confirm` as in `fillSome`. */
export async function fillBlock(
  engine: Engine,
  fill: Fill,
  block: number,
  confirm: () => Promise<void>,
): Promise<void> {
  for (let last: Filled | null = null; last === null || last.rows > 0; ) {
    last = await fillSome(engine, fill, block, confirm, last);
  }
}

/** What one insert of differences was; `repeats`: how often before it had the same. */
export type Filled = { readonly rows: number; readonly hash: string; readonly repeats: number };

/**
 * Inserts what the table lacks of one of these times, at most some rows of it, and takes back what it has too much; 0 rows: it
 * lacks nothing. `confirm` is called before the differences are read and before they are inserted. An insert that is made twice,
 * by two processes that found the same, is made once. `last`: of the call before, for the same time.
 */
export async function fillSome(
  engine: Engine,
  fill: Fill,
  block: number,
  confirm: () => Promise<void>,
  last: Filled | null,
): Promise<Filled> {
  await confirm();
  const difference = await engine.octets(differenceSql(fill, block), 'TabSeparated', {}, insertTimeoutMs, 'system');
  if (difference.length === 0) return { rows: 0, hash: '', repeats: 0 };
  const hash = createHash('sha256').update(difference).digest('base64url');
  // The same rows as an hour ago may be needed again, and ClickHouse drops an insert with a token that it knows.
  const repeats = hash === last?.hash ? last.repeats + 1 : 0;
  // Else this would go on for ever.
  assert(repeats < repeatsMax, `${fill.table} has the rows that were inserted into it`);
  await confirm();
  const columns = [...fill.keys, ...fill.sums].join(', ');
  const settings = `SETTINGS insert_deduplication_token = '${fill.table}:${block}:${repeats}:${hash}'`;
  await engine.insert(`${fill.table} (${columns}) ${settings}`, difference);
  return { rows: difference.reduce((count, octet) => count + (octet === lineFeed ? 1 : 0), 0), hash, repeats };
}

/** A value's own line feed is escaped in the format. */
const lineFeed = 0x0a;

/** In an order of its own, so that two processes that read the same get the same octets. */
function differenceSql({ table, keys, sums, select }: Fill, block: number): string {
  const condition = `slot >= ${block} AND slot < ${block + blockS}`;
  const keyColumns = keys.join(', ');
  const wanted = `SELECT ${[...keys, ...sums].join(', ')} FROM (${select(condition)})`;
  const present = `SELECT ${[...keys, ...sums.map((sum) => `-${sum}`)].join(', ')} FROM ${table} WHERE ${condition}`;
  const differences = sums.map((sum) => `sum(${sum}) AS difference_of_${sum}`).join(', ');
  const isDifferent = sums.map((sum) => `difference_of_${sum} != 0`).join(' OR ');
  return `SELECT ${keyColumns}, ${differences} FROM (${wanted} UNION ALL ${present})
    GROUP BY ${keyColumns} HAVING ${isDifferent} ORDER BY ${keyColumns} LIMIT ${fillRowsMax} SETTINGS max_threads = 1`;
}

function describe(engine: Engine, table: string, columns: string): Promise<string[][]> {
  return slowRows(
    engine,
    `SELECT ${columns} FROM system.tables WHERE database = currentDatabase() AND name = {table:String}`,
    { table },
  ) as Promise<string[][]>;
}

function describeColumns(engine: Engine, table: string): Promise<string[][]> {
  return slowRows(
    engine,
    'SELECT name FROM system.columns WHERE database = currentDatabase() AND table = {table:String} ORDER BY position',
    { table },
  ) as Promise<string[][]>;
}
