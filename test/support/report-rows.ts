// A report as its rows, asked of an engine directly.
import type { Report, ReportQuery } from '../../analytics/reports/report.ts';
import { statementOf } from '../../analytics/reports/statement.ts';
import type { Engine } from '../../analytics/store/engine.ts';
import { patienceMs } from './until.ts';

export type ReportRow = Readonly<Record<string, number | string | null>>;

export async function reportRows(
  engine: Engine,
  report: Report,
  of: Pick<ReportQuery, 'accountId' | 'fromMs' | 'toMs'> & Partial<ReportQuery>,
): Promise<readonly ReportRow[]> {
  const rest = { livemode: true, timeZone: 'UTC', groupBy: [], filters: {}, format: 'json' } as const;
  const { sql, params } = statementOf(report, { report: report.name, ...rest, ...of });
  // What a report may take is the product's; here a busy machine gets a minute.
  const unbounded = sql.replace(/max_execution_time = [\d.]+/, `max_execution_time = ${patienceMs / 1_000}`);
  const octets = await engine.octets(unbounded, 'JSONEachRow', params, patienceMs, 'background');
  const text = octets.toString().trim();
  return text === '' ? [] : (JSON.parse(text) as ReportRow[]);
}
