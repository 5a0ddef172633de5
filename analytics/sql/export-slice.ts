// One slice of an export: the rows of one account in a public table, of a part of its time, from where the slice before it
// ended. A slice is cut at a value of the table's key, so the engine reads on from there, and rows that are inserted meanwhile
// move nothing. Slices leave in a form of which the API makes one file (api/management/export-file.ts).
import { assert } from '../../platform/assert.ts';
import { limits } from '../../platform/limits.ts';
import { lowPriority } from '../../platform/query-priority.ts';
import { splitParquet } from './parquet-file.ts';
import { type NativeFormat, type PublicTable, type SqlFormat, nativeFormats } from './public-tables.ts';

type Statement = { readonly sql: string; readonly params: Readonly<Record<string, string | boolean | number>> };

/** Asks the engine; every statement of a slice has its own bounds, all have one deadline. */
export type Ask = (statement: Statement, format: NativeFormat) => Promise<Buffer>;

export type ExportSlice = {
  readonly octets: Buffer;
  /** `after` of the next slice; absent: there is none. */
  readonly next?: string;
  /** Of Parquet, in base64. */
  readonly footer?: string;
};

/** What an export asks for: the API sends it, the analytics role answers it. The query was validated (api/management/routes/exports.ts). */
export type ExportQuery = {
  /** A public table (public-tables.ts). */
  readonly table: string;
  readonly accountId: string;
  readonly livemode: boolean;
  /** Inclusive; milliseconds since the epoch. */
  readonly fromMs: number;
  /** Exclusive. */
  readonly toMs: number;
  readonly format: SqlFormat;
  /** `next` of the slice before it; absent in the first. */
  readonly after?: string;
};

/** `too_large`: the whole export has more than `limits.exports.rowsMax` rows. */
export async function exportSlice(
  ask: Ask,
  table: PublicTable,
  query: ExportQuery,
  { sliceRowsMax, rowsMax }: { readonly sliceRowsMax: number; readonly rowsMax: number } = limits.exports,
): Promise<ExportSlice | 'too_large'> {
  const { format, after } = query;
  const [last, further] = rowsIn(await ask(lastOf(table, query, sliceRowsMax), nativeFormats.json));
  const until = further === undefined ? undefined : last?.slice_end;
  if (after === undefined && until !== undefined) {
    const [counted] = rowsIn(await ask(countOf(table, query, rowsMax), nativeFormats.json));
    if (Number(counted?.n) > rowsMax) return 'too_large';
  }
  const asCsv = after === undefined ? nativeFormats.csv : 'CSV';
  const octets = await ask(rowsOf(table, query, until), format === 'csv' ? asCsv : nativeFormats[format]);
  const next = until === undefined ? {} : { next: until };
  if (format === 'csv') return { octets, ...next };
  if (format === 'json') return { octets: withoutBrackets(octets), ...next };
  const { body, footer } = splitParquet(octets);
  return { octets: body, footer: footer.toString('base64'), ...next };
}

/** Of the last row of the slice, and of the row behind it. */
const lastOf = (table: PublicTable, query: ExportQuery, rows: number): Statement =>
  statement(
    query,
    `SELECT toString(${table.slicedBy}) AS slice_end ${fromWhere(table, query)}
ORDER BY ${table.sortedBy} LIMIT 2 OFFSET ${rows - 1} SETTINGS ${bounded}`,
  );

/** At most one more than the bound: no more are read. */
const countOf = (table: PublicTable, query: ExportQuery, rowsMax: number): Statement =>
  statement(
    query,
    `SELECT toUInt32(count()) AS n FROM (SELECT 1 ${fromWhere(table, query)} LIMIT ${rowsMax + 1}) SETTINGS ${bounded}`,
  );

function rowsOf(table: PublicTable, query: ExportQuery, until: string | undefined): Statement {
  const upTo = until === undefined ? '' : `AND ${table.slicedBy} <= ${valueOf(table, 'until')}`;
  const { sql, params } = statement(
    query,
    `SELECT ${table.columns.map((column) => column.name).join(', ')} ${fromWhere(table, query)} ${upTo}
ORDER BY ${orderOf(table)}
SETTINGS ${bounded}, max_result_rows = ${limits.exports.sliceRowsTiedMax}, result_overflow_mode = 'throw',
  output_format_json_array_of_rows = 1, output_format_json_quote_64bit_integers = 0, date_time_output_format = 'iso'`,
  );
  return { sql, params: until === undefined ? params : { ...params, until } };
}

const bounded = `${lowPriority}, max_threads = 1, max_execution_time = ${limits.reports.statementMsMax / 1_000},
  max_memory_usage = ${limits.reports.memoryBytesMax}`;

function statement({ accountId, livemode, after }: ExportQuery, sql: string): Statement {
  return { sql, params: { accountId, livemode, ...(after !== undefined && { after }) } };
}

function fromWhere(table: PublicTable, { fromMs, toMs, after }: ExportQuery): string {
  assert(Number.isInteger(fromMs) && Number.isInteger(toMs), 'whole milliseconds');
  const { name, time, slicedBy } = table;
  return `FROM ${name}
WHERE account_id = {accountId:String} AND livemode = {livemode:Bool}
  AND ${time} >= fromUnixTimestamp64Milli(${fromMs}, 'UTC') AND ${time} < fromUnixTimestamp64Milli(${toMs}, 'UTC')
  ${after === undefined ? '' : `AND ${slicedBy} > ${valueOf(table, 'after')}`}`;
}

/** Values travel as texts: JSON has no 64-bit numbers. */
function valueOf({ columns, slicedBy }: PublicTable, parameter: string): string {
  const type = columns.find(({ name }) => name === slicedBy)?.type;
  assert(type !== undefined, 'slices are cut at a public column');
  return `CAST({${parameter}:String} AS ${type})`;
}

const orderOf = ({ sortedBy, thenBy }: PublicTable): string =>
  thenBy === undefined ? sortedBy : `${sortedBy}, ${thenBy}`;

type Row = { readonly slice_end?: string; readonly n?: number };

const rowsIn = (lines: Buffer): Row[] =>
  lines
    .toString()
    .split('\n')
    .filter((line) => line !== '')
    .map((line) => JSON.parse(line) as Row);

/** The rows of a JSON array, without the spaces around them. */
function withoutBrackets(array: Buffer): Buffer {
  let [begin, end] = [array.indexOf('[') + 1, array.lastIndexOf(']')];
  while (begin < end && isSpace(array[begin])) begin += 1;
  while (end > begin && isSpace(array[end - 1])) end -= 1;
  return array.subarray(begin, end);
}

const isSpace = (octet: number | undefined): boolean => octet === 0x0a || octet === 0x0d || octet === 0x20;
