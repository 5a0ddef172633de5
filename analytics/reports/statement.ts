// The SELECT of a report. Values of the client are bound, or numbers: times, and the offsets of their zone.
import { limits } from '../../platform/limits.ts';
import { lowPriority } from '../../platform/query-priority.ts';
import type { Stretch } from '../../policy/country/time-zone.ts';
import { halfHourS } from './half-hour.ts';
import { dayBordersSql, daySql, hourBordersSql, hourSql, shownHourSql, stretchesOf } from './local-time.ts';
import {
  type Counts,
  type Dimension,
  type KeyColumn,
  type Report,
  type ReportQuery,
  type Summarized,
  nothingSummarized,
} from './report.ts';
import { blockMs, slotsOf } from './slots.ts';
import { type Condition, type Source, conditions, sourcesOf } from './tiers.ts';

export type Statement = { readonly sql: string; readonly params: Readonly<Record<string, string | boolean | number>> };

/**
 * Rows in the order of their groups. `seconds` is what the group's hour or day has of the time asked for. The engine refuses
 * more rows than `limits.reports.rowsMax`.
 */
export function statementOf(report: Report, query: ReportQuery, summarized = nothingSummarized): Statement {
  const { groupBy } = query;
  const time = timeOf(query);
  const keys = [...groupBy.map((each) => ({ name: each, ofRow: keySql(each, time) })), ...report.always];
  const peers = peersSql(report, query);
  const columns = [
    ...groupBy.map((each) => `${shownSql(each, time)} AS ${each}`),
    ...report.always.map((each) => `k_${each.name} AS ${each.name}`),
    ...(report.derived ?? []).map((each) => `${each.ofAnswer} AS ${each.name}`),
    ...report.measures.map((each) => `m_${each.name} AS ${each.name}`),
    ...(report.compared ?? []).map((each) => `${each.ofPeers.replaceAll('OVER peers', peers)} AS ${each.name}`),
  ];
  const { selected, groups } = groupsOf(keys, time.by);
  const grouped = [
    ...selected,
    `${secondsSql(query, time)} AS seconds`,
    ...report.measures.map((each) => `${each.ofGroup} AS m_${each.name}`),
  ];
  const order = keys.map((key) => `k_${key.name}`).join(', ');
  const sql = `SELECT ${columns.join(', ')} FROM (
  SELECT ${grouped.join(', ')}
  FROM (${rowsSql(report, query, time, summarized)})
  ${order === '' ? '' : `GROUP BY ${groups} HAVING sum(${report.counted ?? 'messages'}) != 0 ORDER BY ${order}`}
)${report.compared === undefined ? '' : ` ORDER BY ${order}`}
SETTINGS ${lowPriority}, max_threads = 1, max_execution_time = ${limits.reports.statementMsMax / 1_000},
  max_memory_usage = ${limits.reports.memoryBytesMax}, max_result_rows = ${limits.reports.rowsMax}, result_overflow_mode = 'throw',
  output_format_json_array_of_rows = 1, output_format_json_quote_64bit_integers = 0`;
  const { accountId, livemode, filters } = query;
  return { sql, params: { accountId, livemode, ...filters, ...choiceOf(report, query) } };
}

/** What rows are grouped by, if by time, and the offsets of the zone then. */
type GroupedTime = { readonly by: 'hour' | 'day' | null; readonly stretches: readonly Stretch[] };

function timeOf(query: ReportQuery): GroupedTime {
  const by = query.groupBy.find((each) => each === 'hour' || each === 'day') ?? null;
  return { by, stretches: by === null ? [] : stretchesOf(query) };
}

/** How many rows and groups the report reads, where it computes its rows. */
export function sizeOf(report: Report, query: ReportQuery, summarized: Summarized): Statement | null {
  const { size } = report;
  if (size === undefined) return null;
  const read = { ...query, columns: columnsRead(report, query), summarized };
  return briefly(
    `SELECT toUInt32((${size.count(read)})) AS n, toUInt32(least((${size.groupCount?.(read) ?? 0}), 4000000000)) AS groups`,
    query,
  );
}

/** Asks what the report reads from summaries; null: it has none. */
export function summarizedStatement({ summarized }: Report, query: ReportQuery): Statement | null {
  return summarized === undefined ? null : briefly(summarized.sql(query), query);
}

function briefly(sql: string, { accountId, livemode }: ReportQuery): Statement {
  const settings = `${lowPriority}, max_threads = 1, max_execution_time = ${limits.reports.statementMsMax / 1_000}`;
  return { sql: `${sql} SETTINGS ${settings}`, params: { accountId, livemode } };
}

/** The bits of the values that were chosen. */
function choiceOf({ choice }: Report, { chosen }: ReportQuery): Readonly<Record<string, number>> {
  if (choice === undefined) return {};
  const bits = (chosen ?? choice.default).map((value) => 2 ** choice.values.indexOf(value));
  return { [choice.name]: bits.reduce((sum, bit) => sum + bit, 0) };
}

/** The rows that a column compares with. */
function peersSql({ peersOf = [], always }: Report, { groupBy }: ReportQuery): string {
  const keys: readonly string[] = [...groupBy, ...always.map(({ name }) => name)];
  const alike = keys.filter((each) => peersOf.includes(each)).map((each) => `k_${each}`);
  return `OVER (${alike.length === 0 ? '' : `PARTITION BY ${alike.join(', ')}`})`;
}

/** The columns of the rows that it groups by and computes with. */
function columnsOf(reads: readonly string[], { groupBy }: ReportQuery): readonly string[] {
  const dimensions = groupBy.map((each) => (each === 'hour' || each === 'day' ? 'slot' : each));
  return [...new Set([...dimensions, ...reads])];
}

/** And those that it filters by. */
const columnsRead = (report: Report, query: ReportQuery): readonly string[] => [
  ...new Set([...columnsOf(report.reads, query), ...Object.keys(query.filters)]),
];

function rowsSql(report: Report, query: ReportQuery, time: GroupedTime, summarized: Summarized): string {
  const { computed, beside, only, where } = report;
  const tables: readonly Counts[] = beside === undefined ? [report] : [report, beside];
  const read = columnsOf(
    tables.flatMap(({ reads }) => reads),
    query,
  );
  if (computed === undefined)
    return tables.map((counts) => countedRowsSql(counts, read, query, time)).join(' UNION ALL ');
  const asked = Object.keys(query.filters).map((name) =>
    name === 'prefix' ? 'startsWith(prefix, {prefix:String})' : `${name} = {${name}:String}`,
  );
  if (only !== undefined) asked.push(conditions[only]);
  if (where !== undefined) asked.push(`(${where})`);
  const made = computed({ ...query, columns: columnsRead(report, query), summarized });
  return `SELECT ${read.join(', ')} FROM (${made}) ${asked.length === 0 ? '' : `WHERE ${asked.join(' AND ')}`}`;
}

/** Of one table of counts, with all these columns. */
function countedRowsSql(
  counts: Counts,
  read: readonly string[],
  query: ReportQuery,
  { by, stretches }: GroupedTime,
): string {
  const filters = Object.keys(query.filters);
  const own = columnsOf(counts.reads, query);
  const used = [...new Set([...own, ...filters].map(columnOf))];
  const isOfCampaigns = used.some((name) => name === 'campaign_id' || name === 'variant_id');
  const only: Condition[] = [...(counts.only === undefined ? [] : [counts.only])];
  if (isOfCampaigns) only.push('ofCampaigns');
  const { halfHours, blocks } = sourcesOf(counts.table, only, used);
  const slots = slotsOf(query.fromMs, query.toMs, stretches, blocks === null ? 'hour' : by);
  const selected = read.map((name) => {
    const sql = own.includes(name) ? columnOf(name) : numberColumns.has(name) ? '0' : "toLowCardinality('')";
    return sql === name ? name : `${sql} AS ${name}`;
  });
  const asked = [
    'account_id = {accountId:String}',
    'livemode = {livemode:Bool}',
    ...filters.map((name) => `${columnOf(name)} = {${name}:String}`),
    ...(counts.where === undefined ? [] : [`(${counts.where})`]),
  ];
  const of = ({ table, conditions: left }: Source, slot: string) =>
    `SELECT ${selected.join(', ')} FROM ${table} WHERE ${[...asked, ...left.map((each) => `(${each})`), slot].join(' AND ')}`;
  const ofHalfHours = of(halfHours, slotSql(slots.halfHours, halfHourS));
  return blocks === null
    ? ofHalfHours
    : `${ofHalfHours} UNION ALL ${of(blocks, slotSql(slots.blocks, blockMs / 1_000))}`;
}

/** The column of a dimension, and of what else a report reads. */
const columnOf = (name: string): string => (name === 'campaign' || name === 'variant' ? `${name}_id` : name);

/** Columns of counts that are numbers; the others are texts (test/analytics/tiers.test.ts). */
export const numberColumns: ReadonlySet<string> = new Set([
  'messages',
  'segments',
  'segments_submitted',
  'resent',
  'counts',
  'classes',
  'bucket',
]);

/** As one range where no start is left out in it; whole numbers only. */
function slotSql(starts: readonly number[], step: number): string {
  const [first] = starts;
  const last = starts.at(-1);
  if (first === undefined || last === undefined) return '0';
  if (last - first === step * (starts.length - 1)) return `slot >= ${first} AND slot <= ${last}`;
  return `slot IN (${starts.join(', ')})`;
}

/**
 * Several keys are grouped by their time and one number for all their texts. The engine hashes a text of low cardinality once
 * for each of its values; to group by several texts it would put them together for every row, which was half the time of the
 * slowest report. Two of a million groups have the same number once in 37 million reports.
 */
function groupsOf(
  keys: readonly Pick<KeyColumn, 'name' | 'ofRow'>[],
  by: string | null,
): { readonly selected: readonly string[]; readonly groups: string } {
  const texts = keys.filter(({ name }) => name !== by);
  const isHashed = keys.length > 1 && texts.length > 0;
  const selected = keys.map(({ name, ofRow }) => `${isHashed && name !== by ? `any(${ofRow})` : ofRow} AS k_${name}`);
  if (!isHashed) return { selected, groups: keys.map(({ name }) => `k_${name}`).join(', ') };
  const hash = texts.map(({ ofRow }, at) => `sipHash64(${ofRow}) * ${2 * at + 1}`).join(' + ');
  return { selected, groups: by === null ? hash : `k_${by}, ${hash}` };
}

/** What rows are grouped by. Hours and days are moments: after a change of the clock an hour may come twice. */
function keySql(dimension: Dimension, { stretches }: GroupedTime): string {
  if (dimension === 'hour') return hourSql(stretches);
  return dimension === 'day' ? daySql(stretches) : dimension;
}

/** `2026-01-31T09:00:00+05:30` for an hour, `2026-01-31` for a day. */
function shownSql(dimension: Dimension, { stretches }: GroupedTime): string {
  if (dimension === 'hour') return shownHourSql(stretches);
  return dimension === 'day' ? 'toString(k_day)' : `k_${dimension}`;
}

/** What has passed of the row's time: the last half hour of a report may be running. At least a second, because rates divide by it. */
function secondsSql({ fromMs, toMs, nowMs = toMs }: ReportQuery, { by, stretches }: GroupedTime): string {
  const [from, to] = [fromMs / 1_000, Math.ceil(Math.min(toMs, nowMs) / 1_000)];
  if (by === null) return String(Math.max(1, to - from));
  const { begin, end } = by === 'hour' ? hourBordersSql(stretches) : dayBordersSql(stretches);
  return `greatest(1, least(${to}, ${end}) - greatest(${from}, ${begin}))`;
}
