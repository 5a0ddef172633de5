// The SELECT of an export: the rows of one account in a public table, of a part of its time. Values are bound or, like times,
// checked here.
import { assert } from '../../platform/assert.ts';
import { limits } from '../../platform/limits.ts';
import { type PublicTable, type SqlFormat, publicTable } from './public-tables.ts';

type Statement = { readonly sql: string; readonly params: Readonly<Record<string, string | boolean>> };

/**
 * In the order of time; null: there is no such table. The engine refuses more rows than `limits.exports.rowsMax`; with the
 * LIMIT it sorts no more than that.
 */
export function exportStatement({ table: name, accountId, livemode, fromMs, toMs }: ExportQuery): Statement | null {
  const table = publicTable(name);
  if (table === undefined) return null;
  assert(Number.isInteger(fromMs) && Number.isInteger(toMs), 'whole milliseconds');
  const { time } = table;
  const sql = `SELECT ${table.columns.map((column) => column.name).join(', ')} FROM ${name}
WHERE account_id = {accountId:String} AND livemode = {livemode:Bool}
  AND ${time} >= fromUnixTimestamp64Milli(${fromMs}, 'UTC') AND ${time} < fromUnixTimestamp64Milli(${toMs}, 'UTC')
ORDER BY ${orderOf(table)} LIMIT ${limits.exports.rowsMax + 1}
SETTINGS max_threads = 1, max_execution_time = ${limits.reports.statementMsMax / 1_000},
  max_memory_usage = ${limits.reports.memoryBytesMax}, max_result_rows = ${limits.exports.rowsMax}, result_overflow_mode = 'throw',
  output_format_json_array_of_rows = 1, output_format_json_quote_64bit_integers = 0, date_time_output_format = 'iso'`;
  return { sql, params: { accountId, livemode } };
}

/** Of events their own order, by message. */
const orderOf = ({ name, time }: PublicTable): string =>
  name === 'sms_events' ? `${time}, message_id, stream_epoch, stream_seq, batch_index` : time;

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
};
