// GET /v1/reports/…: one route for each entry of analytics/reports/. The event store is asked over NATS; its answer is
// passed on in parts, so that this process holds one part of each report.
import { z } from '@hono/zod-openapi';
import type { ReportPart, RunReport, RunReportReply } from '../../../analytics/contract.ts';
import { querySubjects, reportTimeoutMs } from '../../../analytics/contract.ts';
import { reports } from '../../../analytics/reports/catalogue.ts';
import type { ColumnUnit, Dimension, Report, ReportQuery } from '../../../analytics/reports/report.ts';
import { contentTypes } from '../../../analytics/sql/public-tables.ts';
import type { Bus } from '../../../cluster/bus/connect.ts';
import { systemClock } from '../../../platform/clock.ts';
import { ignoring } from '../../../platform/errors.ts';
import { limits } from '../../../platform/limits.ts';
import { type Problem, problem } from '../../problem.ts';
import { type Endpoint, endpoint } from '../endpoint.ts';
import { envelopeOf, envelopeSchema } from '../report-envelope.ts';
import { type ReportParameters, reportParameters, reportQueryOf } from '../report-query.ts';
import { capitalized } from '../schemas/common.ts';

const schemas: Readonly<Record<ColumnUnit, z.ZodType>> = {
  text: z.string(),
  count: z.int(),
  share: z.number().nullable(),
  rate: z.number(),
  figure: z.number(),
  ms: z.int().nullable(),
};

export const reportEndpoints: readonly Endpoint[] = reports.map((report) =>
  endpoint({
    tag: 'Reports',
    method: 'get',
    path: `/v1/reports/${report.name}`,
    summary: report.title,
    description:
      `${report.description} Live and test messages are apart: a key sees those of its mode. With \`format=csv\` or ` +
      '`parquet` the answer is a file with the same columns. At most ' +
      `${limits.reports.rowsMax} rows.`,
    scope: 'reports:read',
    waitsForOthers: true,
    query: reportParameters(report),
    answer: {
      status: 200,
      description: 'The report.',
      schema: answerOf(report),
      files: [contentTypes.csv, contentTypes.parquet],
    },
    problems: ['report_too_large', 'report_unavailable'],
    async handle({ parts: { bus }, principal, account: { accountId }, query: given }) {
      const read = reportQueryOf(report, given as ReportParameters, systemClock.nowMs());
      if (!read.ok) return read;
      const { timeZoneGiven, ...rest } = read.query;
      const query: ReportQuery = { ...rest, accountId, livemode: principal.livemode };
      const answer = await runReport(bus, query);
      if ('problem' in answer) return answer;
      const { format } = query;
      const stream = format === 'json' ? enveloped(query, timeZoneGiven, answer.octets) : answer.octets;
      const fileName = format === 'json' ? null : `${report.name}.${format}`;
      return { stream, contentType: contentTypes[format], fileName };
    },
  }),
);

type Answer = { readonly octets: AsyncIterable<Uint8Array> } | { readonly problem: Problem };

/** The octets of the answer, or why there are none. */
export async function runReport(bus: Pick<Bus, 'connection'>, query: ReportQuery): Promise<Answer> {
  const reply = await askReport(bus, query, refusals);
  return 'problem' in reply ? reply : { octets: fetched(bus, reply) };
}

export type FoundReport = Extract<RunReportReply, { readonly result: 'found' }>;

/** The answer of the event store, whose octets are to be fetched at once. */
export async function askReport(
  bus: Pick<Bus, 'connection'>,
  query: RunReport,
  { away, tooLarge }: { readonly away: Problem; readonly tooLarge: Problem },
): Promise<FoundReport | { readonly problem: Problem }> {
  let reply: RunReportReply;
  try {
    const payload = JSON.stringify(query);
    const asked = await bus.connection.request(querySubjects.report, payload, { timeout: reportTimeoutMs });
    reply = asked.json<RunReportReply>();
  } catch (error) {
    ignoring(error, 'the event store did not answer');
    return { problem: away };
  }
  if (reply.result === 'found') return reply;
  if (reply.result === 'too_large') {
    const { read } = reply;
    return {
      problem:
        read === undefined ? tooLarge : { ...tooLarge, detail: `${read} in the time asked for: ask for a shorter one` },
    };
  }
  if (reply.result === 'unavailable') return { problem: away };
  if (reply.why === 'account_full')
    return { problem: problem(429, 'account_busy', 'too many reports of this account at once', 1) };
  return { problem: problem(503, 'overloaded', 'too many reports are running', 1) };
}

const refusals = {
  away: problem(503, 'report_unavailable', 'the event store does not answer in time; messages are still sent', 2),
  tooLarge: problem(
    422,
    'report_too_large',
    `more than ${limits.reports.rowsMax} rows: ask for less time, fewer groups, or filter`,
  ),
};

/** Throws when a part is missing: a client must not take half a report for a whole one. What a client that goes away has not fetched is dropped. */
export async function* fetched(
  { connection }: Pick<Bus, 'connection'>,
  { subject, id, parts }: FoundReport,
): AsyncGenerator<Uint8Array> {
  let part = 0;
  try {
    for (; part < parts; part += 1) {
      const wanted: ReportPart = { id, part };
      const { data } = await connection.request(subject, JSON.stringify(wanted), { timeout: limits.reports.partMs });
      if (data.length === 0) throw new Error(`part ${part} of a report is not held any more`);
      yield data;
    }
  } finally {
    if (part < parts - 1) dropRest(connection, subject, { id, part: parts - 1 });
  }
}

/** The node that holds a report drops it with its last part. */
function dropRest(connection: Bus['connection'], subject: string, last: ReportPart): void {
  try {
    connection.publish(subject, JSON.stringify(last));
  } catch (error) {
    ignoring(error, 'it is dropped when nobody has fetched the next part for some seconds');
  }
}

async function* enveloped(
  query: ReportQuery,
  timeZoneGiven: string,
  octets: AsyncIterable<Uint8Array>,
): AsyncGenerator<Uint8Array> {
  const head = JSON.stringify(envelopeOf(query, timeZoneGiven));
  yield Buffer.from(`${head.slice(0, -1)},"data":`);
  yield* octets;
  yield Buffer.from('}');
}

function answerOf(report: Report) {
  const shown: Readonly<Record<Dimension, string>> = {
    hour: 'the beginning of the hour, with its offset',
    day: 'the day',
    carrier: '',
    category: '',
    sender: '',
    campaign: 'messages without one are left out',
    variant: 'empty for messages of a campaign that have none; messages without a campaign are left out',
    prefix: 'the number with its plus sign, without its last six digits',
    language: 'of the text; empty for a template of the account',
    purpose: '',
  };
  const row = z.strictObject({
    ...Object.fromEntries(
      report.groupBy.map((name) => [name, z.string().optional().describe(`${shown[name]} (when grouped by)`.trim())]),
    ),
    ...Object.fromEntries(
      [...report.always, ...(report.derived ?? []), ...report.measures, ...(report.compared ?? [])].map(
        ({ name, unit, help }) => [name, schemas[unit].describe(help)],
      ),
    ),
  });
  const name = `${report.name.split('-').map(capitalized).join('')}Report`;
  return envelopeSchema(report, row).openapi(name);
}
