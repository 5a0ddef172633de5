// What is around the rows of a report, in the answer of its route and of the command: what was asked for, with defaults filled
// in. The rows are under `data`.
import { z } from '@hono/zod-openapi';
import { reportOf } from '../../analytics/reports/catalogue.ts';
import type { Report, ReportQuery } from '../../analytics/reports/report.ts';

type Asked = Omit<ReportQuery, 'accountId' | 'groupBy'> & { readonly groupBy: readonly string[] };

/** `timeZoneGiven`: the name that was asked for, of a zone that may have two. */
export function envelopeOf(query: Asked, timeZoneGiven: string): Readonly<Record<string, unknown>> {
  const { report, fromMs, toMs, groupBy, livemode, chosen } = query;
  const choice = reportOf(report)?.choice;
  return {
    object: 'report',
    report,
    from: new Date(fromMs).toISOString(),
    to: new Date(toMs).toISOString(),
    time_zone: timeZoneGiven,
    group_by: groupBy,
    livemode,
    ...(choice && chosen && { [choice.name]: chosen }),
  };
}

export function envelopeSchema({ name, groupBy, choice }: Report, row: z.ZodType) {
  return z.strictObject({
    object: z.literal('report'),
    report: z.literal(name),
    from: z.iso.datetime(),
    to: z.iso.datetime(),
    time_zone: z.string(),
    group_by: z.array(z.enum(groupBy as [string, ...string[]])),
    livemode: z.boolean(),
    ...(choice && { [choice.name]: z.array(z.enum(choice.values as [string, ...string[]])).describe(choice.help) }),
    data: z.array(row),
  });
}
