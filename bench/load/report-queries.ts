// Which reports the bench asks for: each by the groupings that read most, in zones whose days begin at a whole and at a half
// hour, and those that have campaigns of one campaign, too.
import { reports } from '../../analytics/reports/catalogue.ts';
import { type Dimension, type Report, type ReportQuery, isByCampaign } from '../../analytics/reports/report.ts';
import { askedAccount, days, fromMs } from './report-counts.ts';

/** Of each report, as far as it has them. */
const groupings: readonly (readonly Dimension[])[] = [
  [],
  ['day'],
  ['day', 'carrier'],
  ['carrier', 'category'],
  ['hour'],
  ['hour', 'category'],
  ['hour', 'carrier'],
  ['day', 'sender'],
  ['hour', 'sender'],
  ['campaign'],
  ['hour', 'campaign'],
  ['carrier', 'campaign'],
  ['campaign', 'variant'],
  ['day', 'variant'],
  ['hour', 'variant'],
];
/** Of the reports of one campaign, as far as they have them. */
const groupingsOfOne: readonly (readonly Dimension[])[] = [['variant'], ['hour', 'variant'], ['hour', 'carrier']];
/** Of the fifteenth day. */
const oneCampaign = 'cmp_130';
/** 720 hours × 12 senders × 8 errors, and × 9 senders × 13 reasons: more rows than a report has. */
const tooLarge: ReadonlySet<string> = new Set(['errors hour sender', 'click-reasons hour sender']);
const zones = ['Asia/Kolkata', 'Europe/Berlin', 'UTC'];

/** Over the whole month; of those that read one-time passwords over its last `otpDays`. */
export function queriesOf(otpDays: number): readonly ReportQuery[] {
  const toMs = fromMs + days * 86_400_000;
  const fromOf = ({ computed }: Report) => (computed === undefined ? fromMs : toMs - otpDays * 86_400_000);
  const query = { accountId: askedAccount, livemode: true, toMs, format: 'json' } as const;
  return reports.flatMap((report) =>
    askedOf(report).flatMap((asked) =>
      zones.map((timeZone) => ({ ...query, ...asked, fromMs: fromOf(report), report: report.name, timeZone })),
    ),
  );
}

/** Whether it computes its rows from others, and reads no counts. */
export function readsRows(query: ReportQuery): boolean {
  return reportOf(query).computed !== undefined;
}

export function reportOf(query: ReportQuery): Report {
  const report = reports.find(({ name }) => name === query.report);
  if (report === undefined) throw new Error(query.report);
  return report;
}

export function nameOf({ report, groupBy, filters, timeZone }: ReportQuery): string {
  const of = filters.campaign === undefined ? '' : ' of one campaign';
  return `${report} by ${groupBy.join(', ') || 'nothing'}${of} in ${timeZone}`;
}

function askedOf(report: Report): readonly Pick<ReportQuery, 'groupBy' | 'filters'>[] {
  const ofAll = groupings.map((groupBy) => ({ groupBy, filters: {} }));
  const ofOne = groupingsOfOne.map((groupBy) => ({ groupBy, filters: { campaign: oneCampaign } }));
  return [...ofAll, ...(report.filters.includes('campaign') ? ofOne : [])]
    .filter(({ groupBy }) => groupBy.every((each) => report.groupBy.includes(each)))
    .filter((asked) => !asked.groupBy.includes('variant') || isByCampaign(report, asked))
    .filter(({ groupBy }) => !tooLarge.has(`${report.name} ${groupBy.join(' ')}`));
}
