// The query parameters of a report, and what they mean as a ReportQuery. The schema serves the route, the OpenAPI document
// and the command line; what concerns two parameters at once is checked here too, with the name of the wrong one.
import { z } from '@hono/zod-openapi';
import {
  type Dimension,
  type Filter,
  type Report,
  type ReportQuery,
  campaignHelp,
  filterHelp,
  isByCampaign,
  reportFormats,
} from '../../analytics/reports/report.ts';
import { halfHourMs } from '../../analytics/reports/half-hour.ts';
import { isOfHalfHours } from '../../analytics/reports/slots.ts';
import { momentOf, momentShape, noSuchMoment, withPlus } from '../../model/moment.ts';
import { categories } from '../../model/message.ts';
import { limits } from '../../platform/limits.ts';
import { type TimeZone, stretchesBetween, timeZone } from '../../policy/country/time-zone.ts';
import { type OrProblem, type Problem, wrongField } from '../problem.ts';

const dayMs = 86_400_000;
export const textParameter = (max: number) =>
  z.string().min(1, 'must not be empty').max(max, `must have at most ${max} characters`);

export const formatParameter = z
  .enum(reportFormats, { error: `must be one of ${reportFormats.join(', ')}` })
  .optional()
  .describe('Default: json.');

/** The parameters of this report. */
export function reportParameters(report: Report) {
  const from = textParameter(64).optional();
  return z.strictObject({
    from: from.describe(
      'From when on, inclusive: a time with its offset on a whole half hour, or a day in `time_zone`. Default: the midnight at which the day six days before `to` begins.',
    ),
    to: from.describe('Until when, exclusive, in the same forms. Default: the end of the current half hour.'),
    time_zone: textParameter(64)
      .optional()
      .describe(
        'An IANA name such as `Asia/Kolkata`. Hours and days are those of zones that are whole or half hours from UTC. Default: UTC.',
      ),
    group_by: textParameter(64)
      .optional()
      .describe(
        `Up to two of ${report.groupBy.join(', ')}, separated by a comma; not hour and day together.` +
          (report.groupBy.includes('campaign') ? ` ${campaignHelp}` : ''),
      ),
    format: formatParameter,
    ...Object.fromEntries(
      report.filters.map((name) => [name, filterParameter(name).optional().describe(filterHelp[name])]),
    ),
    ...choiceParameter(report),
  });
}

/** What can never be in a report is refused; names of carriers, senders and campaigns may be of the past. */
function filterParameter(name: Filter): z.ZodType {
  if (name === 'category') return z.enum(categories, { error: `must be one of ${categories.join(', ')}` });
  if (name === 'prefix') return textParameter(100).regex(prefixForm, prefixExpected);
  return textParameter(100);
}

/** A number has at most 15 digits (E.164). */
const prefixForm = /^\+[1-9]\d{0,8}$/;
const prefixExpected =
  'must be what numbers begin with: a plus sign, which a URL has as %2B, and at most all digits but the last six, such as +8801712';

function choiceParameter({ choice }: Report): Readonly<Record<string, z.ZodType>> {
  if (choice === undefined) return {};
  const { name, values, help } = choice;
  const about = `Some of ${values.join(', ')}, separated by commas: ${help}. Default: ${choice.default.join(',')}.`;
  return { [name]: textParameter(64).optional().describe(about) };
}

/** `classes`: of the reports `clicks` and `campaigns`. */
type TextParameter = 'from' | 'to' | 'time_zone' | 'group_by' | 'classes' | Filter;
export type ReportParameters = { readonly [name in TextParameter]?: string | undefined } & {
  readonly format?: ReportQuery['format'] | undefined;
};

/** `timeZoneGiven`: the zone as the client calls it, for the answer: of two names of one zone Intl knows one, such as Asia/Calcutta. */
export type AskedReport = Omit<ReportQuery, 'accountId' | 'livemode'> & { readonly timeZoneGiven: string };

/** What is asked for, without whose it is; or which parameter is wrong. */
export function reportQueryOf(
  report: Report,
  given: ReportParameters,
  nowMs: number,
): OrProblem<{ readonly query: AskedReport }> {
  const groupBy = dimensionsOf(report, given.group_by);
  if (!Array.isArray(groupBy)) return { ok: false, problem: groupBy as Problem };
  const zone = zoneOf(given.time_zone ?? 'UTC');
  if (zone === null) return wrong('time_zone', 'must be the name of a time zone, such as Asia/Kolkata');
  const toMs = given.to === undefined ? Math.ceil((nowMs + 1) / halfHourMs) * halfHourMs : timeOf(given.to, zone.zone);
  if (typeof toMs !== 'number') return wrongTime('to', toMs);
  const fromMs = given.from === undefined ? startOfDay(toMs - 6 * dayMs, zone.zone) : timeOf(given.from, zone.zone);
  if (typeof fromMs !== 'number') return wrongTime('from', fromMs);
  const { daysMax, hourlyDaysMax } = limits.reports;
  if (fromMs >= toMs)
    return wrong('from', given.to === undefined ? 'must not be in the future' : 'must be before `to`');
  if (toMs > nowMs + 2 * dayMs) return wrong('to', 'must not be in the future');
  if (toMs - fromMs > daysMax * dayMs) return wrong('from', `a report is over at most ${daysMax} days`);
  if (groupBy.includes('hour') && toMs - fromMs > hourlyDaysMax * dayMs) {
    return wrong('from', `a report by hour is over at most ${hourlyDaysMax} days: group by day`);
  }
  const isByTime = groupBy.includes('hour') || groupBy.includes('day');
  // A default may be the beginning of such a day.
  if (fromMs % halfHourMs !== 0 || (isByTime && !isOfHalfHours(stretchesBetween(zone.zone, fromMs, toMs)))) {
    return wrong('time_zone', quarterHours);
  }
  const filters = Object.fromEntries(
    report.filters.flatMap((name) => (given[name] === undefined ? [] : [[name, given[name]]])),
  );
  if (!isByCampaign(report, { groupBy, filters })) {
    const detail = 'a variant is one of a campaign: add `campaign` to `group_by`, or filter by `campaign`';
    if (groupBy.includes('variant')) return wrong('group_by', detail);
    if (given.variant !== undefined) return wrong('variant', detail);
  }
  const chosen = chosenOf(report, given);
  if ('problem' in chosen) return chosen;
  const { format = 'json' } = given;
  const zones = { timeZone: zone.name, timeZoneGiven: given.time_zone ?? 'UTC' };
  return {
    ok: true,
    query: { report: report.name, fromMs, toMs, nowMs, ...zones, groupBy, filters, ...chosen, format },
  };
}

const quarterHours =
  'its hours and days begin at a quarter of an hour of UTC, and counts are kept by half hours: a report in it has `from` and `to` as ' +
  'times on a whole half hour of UTC, and is grouped by neither hour nor day';

function chosenOf(
  { choice }: Report,
  given: ReportParameters,
): { readonly chosen?: readonly string[] } | { readonly ok: false; readonly problem: Problem } {
  if (choice === undefined) return {};
  const text = (given as Readonly<Record<string, string | undefined>>)[choice.name];
  if (text === undefined) return { chosen: choice.default };
  const named = text.split(',').map((name) => name.trim());
  const strange = named.find((name) => !choice.values.includes(name));
  if (strange !== undefined) return wrong(choice.name, `"${strange}" is not one of ${choice.values.join(', ')}`);
  return { chosen: choice.values.filter((value) => named.includes(value)) };
}

export const wrong = (field: string, detail: string) => ({ ok: false, problem: wrongField(field, detail) }) as const;

function dimensionsOf(report: Report, given: string | undefined): readonly Dimension[] | Problem {
  const names = given === undefined ? [] : given.split(',').map((name) => name.trim());
  const strange = names.find((name) => !report.groupBy.some((each) => each === name));
  if (report.always.some(({ name }) => name === strange)) {
    return wrongField('group_by', `"${strange}" is in every row already`);
  }
  if (strange !== undefined) return wrongField('group_by', `"${strange}" is not one of ${report.groupBy.join(', ')}`);
  if (names.length > 2 || new Set(names).size < names.length)
    return wrongField('group_by', 'must be up to two, different ones');
  if (names.includes('hour') && names.includes('day')) return wrongField('group_by', 'must be hour or day, not both');
  return names as Dimension[];
}

/** The name as Intl writes it, with the zone; null when there is no such zone. */
function zoneOf(given: string): { readonly name: string; readonly zone: TimeZone } | null {
  if (!/^[A-Za-z][A-Za-z0-9_+/-]*$/.test(given)) return null;
  try {
    const name = new Intl.DateTimeFormat('en-US', { timeZone: given }).resolvedOptions().timeZone;
    return { name, zone: timeZone(name) };
  } catch (error) {
    if (!(error instanceof RangeError)) throw error;
    return null;
  }
}

export const earliestMs = Date.UTC(2020, 0, 1);

/** The words for a time that cannot be, or that a day of this zone does not begin with a half hour. */
type WrongTime = { readonly text: string } | 'of_quarter_hours';

const wrongTime = (field: 'from' | 'to', found: WrongTime) =>
  found === 'of_quarter_hours' ? wrong('time_zone', quarterHours) : wrong(field, found.text);

/** Milliseconds since the epoch, or what is wrong. */
function timeOf(given: string, zone: TimeZone): number | WrongTime {
  const isDay = /^\d{4}-\d{2}-\d{2}$/.test(given);
  const moment = momentOf(isDay ? `${given}T00:00:00Z` : withPlus(given));
  if (moment === null) return { text: isDay ? noSuchMoment : `must be ${momentShape}, or a day such as 2026-01-31` };
  const atMs = isDay ? startOfLocal(moment, zone) : moment;
  if (atMs < earliestMs) return { text: 'must not be before 2020' };
  if (atMs % halfHourMs !== 0 && isDay) return 'of_quarter_hours';
  if (atMs % halfHourMs !== 0) return { text: 'must be on a whole half hour: counts are kept by half hours' };
  return atMs;
}

const startOfDay = (atMs: number, zone: TimeZone): number =>
  startOfLocal(Math.floor((atMs + zone.offsetAt(atMs)) / dayMs) * dayMs, zone);

/** The first moment of the day whose midnight a wall clock at UTC calls `wallMs`. */
function startOfLocal(wallMs: number, zone: TimeZone): number {
  const offsets = [wallMs - dayMs, wallMs + dayMs].map((each) => zone.offsetAt(each));
  const candidates = offsets.map((offset) => wallMs - offset).toSorted((a, b) => a - b);
  return candidates.find((each) => each + zone.offsetAt(each) >= wallMs) ?? (candidates[0] as number);
}
