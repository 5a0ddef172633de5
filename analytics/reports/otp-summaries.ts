// Which one-time passwords a report reads from summaries (schema/015) and which from their rows. A time is read from its
// summary when that includes all late changes of it. This is asked first, in a statement of its own: a summary that is
// computed meanwhile then changes nothing, because the statement of the report names the times that it reads from the rows.
import { limits } from '../../platform/limits.ts';
import { type ReportQuery, type Summarized, nothingSummarized } from './report.ts';

type Time = Pick<ReportQuery, 'fromMs' | 'toMs'>;
/** `toMs` is exclusive. */
export type Range = { readonly fromMs: number; readonly toMs: number };

const { spanMs, changedPerReportMax } = limits.otpSummaries;

export const tenMinutesSql = (time: string): string =>
  `toDateTime(intDiv(toUnixTimestamp(${time}), ${spanMs / 1_000}) * ${spanMs / 1_000}, 'UTC')`;
const seconds = (ms: number): string => String(Math.trunc(ms / 1_000));
const within = ({ fromMs, toMs }: Range): string =>
  `ten_minutes >= ${seconds(fromMs)} AND ten_minutes < ${seconds(toMs)}`;

/**
 * Times with late changes that their summary does not include, or that have none. `which`: a condition on accounts and
 * times.
 */
export const changedTimesSql = (which: string): string => `
  SELECT account_id, livemode, ten_minutes FROM (
    SELECT account_id, livemode, ten_minutes, sum(changes) AS happened FROM otp_late_changes WHERE ${which}
    GROUP BY account_id, livemode, ten_minutes
  ) AS late LEFT JOIN (
    SELECT account_id, livemode, ten_minutes, max(late_changes) AS included FROM otp_summaries
    WHERE NOT by_prefix AND ${which}
      AND (account_id, livemode, ten_minutes) IN (SELECT account_id, livemode, ten_minutes FROM otp_late_changes WHERE ${which})
    GROUP BY account_id, livemode, ten_minutes
  ) AS summarized USING (account_id, livemode, ten_minutes)
  WHERE happened > included`;

/** The statement whose answer `summarizedOf` reads. */
export function summarizedSql(ofAccount: string, time: Time): string {
  return `SELECT toUnixTimestamp(max(summarized_to)) AS to, (
      SELECT groupArray(toUnixTimestamp(ten_minutes)) FROM (
        ${changedTimesSql(`${ofAccount} AND ${within(time)}`)} ORDER BY ten_minutes LIMIT ${changedPerReportMax + 1}
      )
    ) AS changed
    FROM otp_summarized`;
}

export function summarizedOf(answer: string): Summarized {
  const { to, changed } = JSON.parse(answer) as { readonly to: number; readonly changed: readonly number[] };
  const changedMs = changed.map((each) => each * 1_000).filter((each) => each < to * 1_000);
  if (changed.length > changedPerReportMax) return nothingSummarized;
  return { toMs: to * 1_000, changedMs };
}

/** What a report reads from the rows, in order; times that follow each other are one. */
export function rangesOfRows({ fromMs, toMs }: Time, summarized: Summarized): readonly Range[] {
  const changed = summarized.changedMs.map((each) => ({ fromMs: each, toMs: each + spanMs }));
  const all = [...changed, { fromMs: Math.max(fromMs, summarized.toMs), toMs }].filter(
    (each) => each.fromMs < each.toMs,
  );
  return joined(all);
}

/** Ascending ranges, of which those that touch or overlap are one. */
export function joined(ascending: readonly Range[]): readonly Range[] {
  const ranges: Range[] = [];
  for (const each of ascending) {
    const last = ranges.at(-1);
    if (last === undefined || each.fromMs > last.toMs) ranges.push(each);
    else ranges[ranges.length - 1] = { fromMs: last.fromMs, toMs: Math.max(last.toMs, each.toMs) };
  }
  return ranges;
}

/** The columns of a group: of summaries `groups.<name>`. */
export const groupColumns = [
  ...(['carrier', 'sender', 'prefix', 'language', 'purpose', 'status', 'reason'] as const),
  ...(['submitted', 'delivered', 'for_trust', 'otps', 'sends', 'took_buckets', 'took_counts'] as const),
];
export type GroupColumn = (typeof groupColumns)[number];

function summaryRows({ fromMs, toMs }: Time, { toMs: untilMs, changedMs }: Summarized, byPrefix: boolean): string {
  const changed = changedMs.length === 0 ? '' : ` AND ten_minutes NOT IN (${changedMs.map(seconds).join(', ')})`;
  return `livemode = {livemode:Bool} AND account_id = {accountId:String} AND by_prefix = ${String(byPrefix)}
    AND ${within({ fromMs, toMs: Math.min(toMs, untilMs) })}${changed}`;
}

/** The groups of all summaries that are read, with these columns. Only those are unpacked. */
export function groupsSql(time: Time, summarized: Summarized, columns: readonly GroupColumn[]): string {
  return `SELECT ten_minutes, ${columns.join(', ')}
    FROM otp_summaries FINAL ARRAY JOIN ${columns.map((name) => `groups.${name} AS ${name}`).join(', ')}
    WHERE ${summaryRows(time, summarized, columns.includes('prefix'))}`;
}

/** How many groups they are. */
export const groupCountSql = (time: Time, summarized: Summarized, byPrefix: boolean): string =>
  `SELECT sum(length(groups.otps)) FROM otp_summaries FINAL WHERE ${summaryRows(time, summarized, byPrefix)}`;
