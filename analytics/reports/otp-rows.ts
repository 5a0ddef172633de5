// The rows that reports about one-time passwords count, as SQL: groups of one-time passwords as they are now, with what
// became of their messages, and one row for each request that the guard refused. Times that are over come from summaries
// (otp-summaries.ts). The others are computed when a report is made, over all versions that are stored, so that a row that
// was written twice, or late, changes nothing.
import { limits } from '../../platform/limits.ts';
import { halfHourS } from './half-hour.ts';
import type { ReadToCompute, ReportQuery } from './report.ts';
import {
  type GroupColumn,
  type Range,
  groupCountSql,
  groupsSql,
  joined,
  rangesOfRows,
  summarizedOf,
  summarizedSql,
} from './otp-summaries.ts';

type Time = Pick<ReportQuery, 'fromMs' | 'toMs'>;

/** The messages of a one-time password are accepted while its code is valid; clocks of nodes differ. */
export const messagesBeforeMs = 60_000;
export const messagesAfterMs = limits.otp.ttlSecondsMax * 1_000 + messagesBeforeMs;

export const moment = (ms: number) => `fromUnixTimestamp64Milli(toInt64(${Math.trunc(ms)}))`;
export const ofAccount = 'account_id = {accountId:String} AND livemode = {livemode:Bool}';
export const slotOf = (column: string) =>
  `toDateTime(intDiv(toUnixTimestamp(${column}), ${halfHourS}) * ${halfHourS}, 'UTC')`;
const within = (column: string, ranges: readonly Range[]) =>
  `(${ranges.map(({ fromMs, toMs }) => `${column} >= ${moment(fromMs)} AND ${column} < ${moment(toMs)}`).join(' OR ') || '0'})`;

/**
 * What carriers said of each message. `carriers`: how many took it. A copy that may still arrive has not failed
 * (docs/otp.md, Hedging).
 */
const messages = (which: string, ranges: readonly Range[]) => `
  SELECT message_id, argMaxIf(carrier, (hop, at), kind = 'submitted') AS last_carrier, uniqExactIf(carrier, kind = 'submitted') AS carriers,
    max(kind = 'submitted') AS was_submitted, max(kind = 'delivered') AS was_delivered,
    groupBitOrIf(bitShiftLeft(toUInt32(1), hop), kind = 'submitted') AS taken,
    groupBitOrIf(bitShiftLeft(toUInt32(1), hop), kind NOT IN ('submitted', 'delivered')) AS failed,
    NOT was_delivered AND failed != 0 AND bitAnd(taken, bitNot(failed)) = 0 AS has_failed
  FROM otp_messages
  WHERE ${which} AND ${within(
    'accepted_at',
    joined(ranges.map(({ fromMs, toMs }) => ({ fromMs: fromMs - messagesBeforeMs, toMs: toMs + messagesAfterMs }))),
  )}
  GROUP BY message_id`;

/**
 * Each one-time password that clients know of, of the accounts that `which` says. Whether its messages failed, the carriers'
 * words say, however late they came. `for_trust`, of the figure of trust: the outcome is final, one message through one
 * carrier was for it, the code is ours and nobody canceled it; `isOver` says whether its time is over.
 */
export function eachOtp(which: string, ranges: readonly Range[], isOver: string): string {
  return `
  SELECT account, started, otp_carrier AS carrier, otp_sender AS sender, otp_prefix AS prefix, otp_language AS language,
    otp_purpose AS purpose, otp_status AS status,
    if(otp_reason IN ('expired', 'delivery_failed'), if(have_all_failed, 'delivery_failed', 'expired'), otp_reason) AS reason,
    toBool(was_submitted) AS submitted, toBool(was_delivered) AS delivered, message_count AS sends,
    message_count = 1 AND carrier_count = 1 AND NOT is_own_code AND otp_status != 'canceled' AND ${isOver} AS for_trust,
    otp_status = 'verified' AS is_verified, dateDiff('millisecond', started, ended) AS took_ms,
    toUInt16(if(took_ms < 1, 0, 1 + floor(log(greatest(took_ms, 1)) / log(1.05)))) AS took_bucket
  FROM (
    SELECT otp_id, any(o.account_id) AS account, any(o.started_at) AS started, any(o.expires_at) AS expires, any(o.ended_at) AS ended,
      any(o.status) AS otp_status, any(o.reason) AS otp_reason, any(o.language) AS otp_language, any(o.sender) AS otp_sender,
      any(o.prefix) AS otp_prefix, any(o.own_code) AS is_own_code, toUInt32(count()) AS message_count, any(o.purpose) AS otp_purpose,
      argMaxIf(m.last_carrier, nth, m.was_submitted = 1) AS otp_carrier, sum(m.carriers) AS carrier_count,
      max(m.was_submitted) AS was_submitted, max(m.was_delivered) AS was_delivered, min(m.has_failed) AS have_all_failed
    FROM (
      SELECT account_id, otp_id, started_at, expires_at, ended_at, status, reason, language, sender, prefix, own_code, purpose, message_id, nth
      FROM otps FINAL ARRAY JOIN message_ids AS message_id, arrayEnumerate(message_ids) AS nth
      WHERE ${which} AND ${within('started_at', ranges)} AND reason != 'not_sent'
    ) AS o
    LEFT JOIN (${messages(which, ranges)}) AS m ON o.message_id = m.message_id
    GROUP BY otp_id
  )`;
}

/** One-time passwords as groups of one, with these columns and `slot`, and the groups of summaries. */
function groups(read: ReadToCompute, columns: readonly GroupColumn[]): string {
  const ofOne: Readonly<Partial<Record<GroupColumn, string>>> = {
    otps: 'toUInt32(1)',
    took_buckets: 'if(is_verified, [took_bucket], [])',
    took_counts: 'if(is_verified, [toUInt32(1)], [])',
  };
  const ofRows = columns.map((name) => `${ofOne[name] ?? `e.${name}`} AS ${name}`);
  const each = eachOtp(
    ofAccount,
    rangesOfRows(read, read.summarized),
    "expires <= now64(3, 'UTC') - INTERVAL 60 SECOND",
  );
  return `SELECT ${slotOf('started')} AS slot, ${ofRows.join(', ')} FROM (${each}) AS e
  UNION ALL
  SELECT ${slotOf('ten_minutes')} AS slot, ${columns.join(', ')} FROM (${groupsSql(read, read.summarized, columns)})`;
}

/** How many are read, where a report could not be made in time. */
export const otpSize = {
  of: 'one-time passwords',
  max: limits.reports.readRowsMax,
  count: (read: ReadToCompute) =>
    `SELECT count() FROM otps FINAL WHERE ${ofAccount} AND ${within('started_at', rangesOfRows(read, read.summarized))}`,
  groupCount: (read: ReadToCompute) => groupCountSql(read, read.summarized, read.columns.includes('prefix')),
};

export const otpSummarized = {
  sql: (time: Time) => summarizedSql(ofAccount, time),
  read: summarizedOf,
};

const texts = ['carrier', 'sender', 'prefix', 'language', 'purpose'] as const;

/** Of the funnel: every one-time password, and every refusal beside them. */
export function otpRows(read: ReadToCompute): string {
  const asked = texts.filter((name) => read.columns.includes(name));
  const columns: readonly GroupColumn[] = [
    ...asked,
    ...(['status', 'reason', 'otps', 'sends', 'submitted', 'delivered', 'took_buckets', 'took_counts'] as const),
  ];
  const ofRefusal = asked.map((name) => (name === 'prefix' ? 'prefix' : "''"));
  return `
  SELECT slot, ${columns.join(', ')}, '' AS refused, otps AS counted FROM (${groups(read, columns)})
  UNION ALL
  SELECT ${slotOf('at')}, ${[...ofRefusal, "''", "''"].join(', ')}, 0, 0, false, false, [], [], action, greatest(toInt64(times), 1)
  FROM otp_guard_decisions FINAL
  WHERE ${ofAccount} AND what = 'refusal' AND mode = 'on' AND ${within('at', [read])}`;
}

/** Of the figure of trust. */
export function otpTrustRows(read: ReadToCompute): string {
  const asked = texts.filter((name) => read.columns.includes(name));
  return `SELECT slot, ${asked.map((name) => `${name}, `).join('')}otps AS counted, if(delivered, otps, 0) AS claimed,
    if(status = 'verified', otps, 0) AS verified, if(delivered AND status = 'verified', otps, 0) AS verified_of_claimed
  FROM (${groups(read, [...asked, 'status', 'delivered', 'for_trust', 'otps'])})
  WHERE for_trust`;
}

/** Every decision of the guard. */
export function otpDecisionRows({ fromMs, toMs }: Time): string {
  return `
  SELECT ${slotOf('at')} AS slot, what AS decision, rule AS by_rule, action AS asked, mode AS in_mode, prefix, statistic AS figure,
    threshold AS bound, at AS happened, until AS until_at,
    if(what IN ('refusal', 'probe', 'challenge_passed'), greatest(toInt64(times), 1), 1) AS counted
  FROM otp_guard_decisions FINAL
  WHERE ${ofAccount} AND at >= ${moment(fromMs)} AND at < ${moment(toMs)}`;
}
