// A report as its rows, asked of an engine directly.
import type { Report, ReportQuery } from '../../analytics/reports/report.ts';
import { type Statement, statementOf, summarizedStatement } from '../../analytics/reports/statement.ts';
import type { Engine } from '../../analytics/store/engine.ts';
import { patienceMs } from './until.ts';

export type ReportRow = Readonly<Record<string, number | string | null>>;

export async function reportRows(
  engine: Engine,
  report: Report,
  of: Pick<ReportQuery, 'accountId' | 'fromMs' | 'toMs'> & Partial<ReportQuery>,
): Promise<readonly ReportRow[]> {
  const rest = { livemode: true, timeZone: 'UTC', groupBy: [], filters: {}, format: 'json' } as const;
  const query = { report: report.name, ...rest, ...of };
  const first = summarizedStatement(report, query);
  const summarized = first === null ? undefined : report.summarized?.read(await askPatiently(engine, first));
  const text = await askPatiently(engine, statementOf(report, query, summarized));
  return text === '' ? [] : (JSON.parse(text) as ReportRow[]);
}

export async function askPatiently(engine: Engine, { sql, params }: Statement): Promise<string> {
  return (await patient(engine).octets(sql, 'JSONEachRow', params, patienceMs, 'background')).toString().trim();
}

/** How long a statement may take is the product's; here a busy machine gets a minute. */
export function patient(engine: Engine): Engine {
  const unbounded = (sql: string) =>
    sql.replace(/max_execution_time = [\d.]+/, `max_execution_time = ${patienceMs / 1_000}`);
  return {
    ...engine,
    rows: (sql, params, _limitMs, turn) => engine.rows(unbounded(sql), params, patienceMs, turn),
    octets: (sql, format, params, _limitMs, turn) => engine.octets(unbounded(sql), format, params, patienceMs, turn),
  };
}
