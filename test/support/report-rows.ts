// A report as its rows, asked of an engine directly.
import type { Report, ReportQuery } from '../../analytics/reports/report.ts';
import { statementOf } from '../../analytics/reports/statement.ts';
import type { Engine } from '../../analytics/store/engine.ts';

export type ReportRow = Readonly<Record<string, number | string | null>>;

export async function reportRows(
  engine: Engine,
  report: Report,
  of: Pick<ReportQuery, 'accountId' | 'fromMs' | 'toMs'> & Partial<ReportQuery>,
): Promise<readonly ReportRow[]> {
  const rest = { livemode: true, timeZone: 'UTC', groupBy: [], filters: {}, format: 'json' } as const;
  const { sql, params } = statementOf(report, { report: report.name, ...rest, ...of });
  const octets = await engine.octets(sql, 'JSONEachRow', params, 20_000, 'background');
  const text = octets.toString().trim();
  return text === '' ? [] : (JSON.parse(text) as ReportRow[]);
}
