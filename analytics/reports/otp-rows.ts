// The rows that reports about one-time passwords count, as SQL: one for each one-time password as it is now, with what became
// of its messages, and one for each request that the guard refused. Computed when a report is made, over all versions that
// are stored, so that a row that was written twice, or late, changes nothing.
import type { ReportQuery } from './report.ts';

type Time = Pick<ReportQuery, 'fromMs' | 'toMs'>;

/** A code is valid for ten minutes at most, and so is the last message with it. */
const messagesAfterMs = 15 * 60_000;

const moment = (ms: number) => `fromUnixTimestamp64Milli(toInt64(${Math.trunc(ms)}))`;
const ofAccount = 'account_id = {accountId:String} AND livemode = {livemode:Bool}';
const slotOf = (column: string) => `toDateTime(intDiv(toUnixTimestamp(${column}), 1800) * 1800, 'UTC')`;

/** What carriers said of each message. `carriers`: how many took it. A copy that may still arrive has not failed (docs/otp.md, Hedging). */
const messages = ({ fromMs, toMs }: Time) => `
  SELECT message_id, argMaxIf(carrier, (hop, at), kind = 'submitted') AS last_carrier, uniqExactIf(carrier, kind = 'submitted') AS carriers,
    max(kind = 'submitted') AS was_submitted, max(kind = 'delivered') AS was_delivered,
    groupBitOrIf(bitShiftLeft(toUInt32(1), hop), kind = 'submitted') AS taken,
    groupBitOrIf(bitShiftLeft(toUInt32(1), hop), kind NOT IN ('submitted', 'delivered')) AS failed,
    NOT was_delivered AND failed != 0 AND bitAnd(taken, bitNot(failed)) = 0 AS has_failed
  FROM otp_messages
  WHERE ${ofAccount} AND accepted_at >= ${moment(fromMs - messagesAfterMs)} AND accepted_at < ${moment(toMs + messagesAfterMs)}
  GROUP BY message_id`;

/** Each one-time password that clients know of. Whether its messages failed, the carriers' words say, however late they came. */
const otps = (time: Time) => `
  SELECT otp_id, any(o.started_at) AS started, any(o.expires_at) AS expires, any(o.ended_at) AS ended, any(o.status) AS otp_status,
    any(o.reason) AS otp_reason, any(o.language) AS otp_language, any(o.sender) AS otp_sender, any(o.prefix) AS otp_prefix,
    any(o.own_code) AS is_own_code, toUInt32(count()) AS message_count, any(o.purpose) AS otp_purpose,
    argMaxIf(m.last_carrier, nth, m.was_submitted = 1) AS otp_carrier, sum(m.carriers) AS carrier_count,
    max(m.was_submitted) AS was_submitted, max(m.was_delivered) AS was_delivered, min(m.has_failed) AS have_all_failed
  FROM (
    SELECT otp_id, started_at, expires_at, ended_at, status, reason, language, sender, prefix, own_code, purpose, message_id, nth
    FROM otps FINAL ARRAY JOIN message_ids AS message_id, arrayEnumerate(message_ids) AS nth
    WHERE ${ofAccount} AND started_at >= ${moment(time.fromMs)} AND started_at < ${moment(time.toMs)}
      AND reason != 'not_sent'
  ) AS o
  LEFT JOIN (${messages(time)}) AS m ON o.message_id = m.message_id
  GROUP BY otp_id`;

/** How many one-time passwords are read. */
export const otpSize = {
  of: 'one-time passwords',
  count: ({ fromMs, toMs }: Time) =>
    `SELECT count() FROM otps FINAL WHERE ${ofAccount} AND started_at >= ${moment(fromMs)} AND started_at < ${moment(toMs)}`,
};

/** Of the funnel: every one-time password, and every refusal beside them. */
export function otpRows(time: Time): string {
  return `
  SELECT ${slotOf('started')} AS slot, otp_carrier AS carrier, otp_sender AS sender, otp_prefix AS prefix, otp_language AS language,
    otp_purpose AS purpose, otp_status AS status,
    if(otp_reason IN ('expired', 'delivery_failed'), if(have_all_failed, 'delivery_failed', 'expired'), otp_reason) AS reason, toInt64(1) AS otp, toInt64(message_count) AS sends,
    toInt64(was_submitted) AS submitted, toInt64(was_delivered) AS delivered,
    toInt64(if(otp_status = 'verified', dateDiff('millisecond', started, ended), 0)) AS took_ms, '' AS refused, toInt64(1) AS counted
  FROM (${otps(time)})
  UNION ALL
  SELECT ${slotOf('at')}, '', '', prefix, '', '', '', '', toInt64(0), toInt64(0), toInt64(0), toInt64(0), toInt64(0), action, toInt64(1)
  FROM otp_guard_decisions FINAL
  WHERE ${ofAccount} AND what = 'refusal' AND mode = 'on' AND at >= ${moment(time.fromMs)} AND at < ${moment(time.toMs)}`;
}

/**
 * Of the figure of trust: one-time passwords whose outcome is final, that one message through one carrier was for, whose code
 * is ours and that nobody canceled.
 */
export function otpTrustRows(time: Time): string {
  return `
  SELECT ${slotOf('started')} AS slot, otp_carrier AS carrier, otp_sender AS sender, otp_prefix AS prefix, toInt64(was_delivered) AS claimed,
    toInt64(otp_status = 'verified') AS verified, toInt64(1) AS counted
  FROM (${otps(time)})
  WHERE message_count = 1 AND carrier_count = 1 AND NOT is_own_code AND otp_status != 'canceled'
    AND expires <= now64(3, 'UTC') - INTERVAL 60 SECOND`;
}

/** Every decision of the guard. */
export function otpDecisionRows({ fromMs, toMs }: Time): string {
  return `
  SELECT ${slotOf('at')} AS slot, what AS decision, rule AS by_rule, action AS asked, mode AS in_mode, prefix, statistic AS figure,
    threshold AS bound, at AS happened, until AS until_at, toInt64(1) AS counted
  FROM otp_guard_decisions FINAL
  WHERE ${ofAccount} AND at >= ${moment(fromMs)} AND at < ${moment(toMs)}`;
}
