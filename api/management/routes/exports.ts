// GET /v1/exports/…: one route for each public table (docs/schema.md), with the account's own rows of a part of its time. The
// answer comes from the event store in slices, each in parts, as a report's does.
import { z } from '@hono/zod-openapi';
import type { ExportQuery } from '../../../analytics/sql/export-slice.ts';
import { type PublicTable, contentTypes, publicTables } from '../../../analytics/sql/public-tables.ts';
import { momentOf, momentShape, withPlus } from '../../../model/moment.ts';
import { systemClock } from '../../../platform/clock.ts';
import { limits } from '../../../platform/limits.ts';
import { type OrProblem, problem } from '../../problem.ts';
import { type Endpoint, endpoint } from '../endpoint.ts';
import { earliestMs, formatParameter, textParameter, wrong } from '../report-query.ts';
import { capitalized } from '../schemas/common.ts';
import { exportFile } from '../export-file.ts';
import { askReport } from './reports.ts';

const { daysMax, rowsMax } = limits.exports;
const dayMs = 86_400_000;
const moment = textParameter(64).optional();

const exportParameters = z.strictObject({
  from: moment.describe(
    'From when on, inclusive: a time with its offset, or a day (UTC). Default: one day before `to`.',
  ),
  to: moment.describe('Until when, exclusive, in the same forms. Default: now.'),
  format: formatParameter,
});

export const exportEndpoints: readonly Endpoint[] = publicTables.map((table) =>
  endpoint({
    tag: 'Exports',
    method: 'get',
    path: `/v1/exports/${table.name}`,
    summary: `Export: ${table.title.charAt(0).toLowerCase()}${table.title.slice(1)}`,
    description:
      `${table.description} The account’s own rows by \`${table.time}\`, live or test by the key; JSON as one array of rows, CSV ` +
      `and Parquet with the same columns. At most ${daysMax} days and ${rowsMax} rows.`,
    scope: 'reports:read',
    waitsForOthers: true,
    isExport: true,
    query: exportParameters,
    answer: {
      status: 200,
      description: 'The rows.',
      schema: rowsOf(table),
      files: [contentTypes.csv, contentTypes.parquet],
    },
    problems: ['export_too_large', 'export_unavailable'],
    async handle({ parts: { bus }, principal: { livemode }, account: { accountId }, query }) {
      const read = rangeOf(query, systemClock.nowMs());
      if (!read.ok) return read;
      const { fromMs, toMs } = read;
      const { format = 'json' } = query;
      const wanted: ExportQuery = { table: table.name, accountId, livemode, fromMs, toMs, format };
      const ask = (slice: ExportQuery) => askReport(bus, slice, refusals);
      const first = await ask(wanted);
      if ('problem' in first) return first;
      const fileName = format === 'json' ? null : `${table.name}.${format}`;
      return { stream: exportFile(bus, wanted, first, ask), contentType: contentTypes[format], fileName };
    },
  }),
);

const refusals = {
  away: problem(503, 'export_unavailable', 'the event store does not answer in time; messages are still sent', 2),
  tooLarge: problem(422, 'export_too_large', `more than ${rowsMax} rows: ask for less time`),
};

type Range = { readonly fromMs: number; readonly toMs: number };

function rangeOf({ from, to }: z.infer<typeof exportParameters>, nowMs: number): OrProblem<Range> {
  const toMs = to === undefined ? Math.trunc(nowMs) : timeOf(to);
  if (toMs === null) return wrong('to', expected);
  const fromMs = from === undefined ? toMs - dayMs : timeOf(from);
  if (fromMs === null) return wrong('from', expected);
  if (fromMs >= toMs) return wrong('from', 'must be before `to`');
  if (toMs > nowMs + 2 * dayMs) return wrong('to', 'must not be in the future');
  if (fromMs < earliestMs) return wrong('from', 'must not be before 2020');
  if (toMs - fromMs > daysMax * dayMs) return wrong('from', `an export is over at most ${daysMax} days`);
  return { ok: true, fromMs, toMs };
}

const expected = `must be ${momentShape}, or a day such as 2026-01-31`;
const timeOf = (given: string): number | null =>
  momentOf(/^\d{4}-\d{2}-\d{2}$/.test(given) ? `${given}T00:00:00Z` : withPlus(given));

/** 64-bit numbers are JSON numbers, as in the other answers. */
function rowsOf(table: PublicTable) {
  const schemaOf = (type: string): z.ZodType => {
    if (type === 'Bool') return z.boolean();
    if (/^U?Int/.test(type)) return z.number();
    if (type.startsWith('Array')) return z.array(z.string());
    return z.string();
  };
  const row = table.columns.map(({ name, type, help }) => [name, schemaOf(type).describe(help)]);
  const name = table.name.split('_').map(capitalized).join('');
  return z.array(z.strictObject(Object.fromEntries(row))).openapi(`${name}Export`);
}
