// The report of hedged one-time passwords, as data (report.ts): what the second copies brought beside the control group, which
// was late in the same way and got none (docs/otp.md, Hedging).
import { controlGroup, hedgeReasons } from '../../model/copies.ts';
import { limits } from '../../platform/limits.ts';
import { moment, ofAccount, slotOf } from './otp-rows.ts';
import { percentiles } from './percentiles.ts';
import { type ReadToCompute, type Report, compared, count, key, share, shareSql, wilsonSql } from './report.ts';

/** A code that comes later is often asked for again. */
const soonMs = 10_000;

const accepted = ({ fromMs, toMs }: ReadToCompute): string =>
  `${ofAccount} AND accepted_at >= ${moment(fromMs)} AND accepted_at < ${moment(toMs)}`;

/**
 * A row for each message with a `hedged` event, as of the first: one of the control group that is refused then may be late at the
 * next carrier as well. Hedged messages are few and are held in memory; the deliveries are read past them.
 */
function hedgedRows(read: ReadToCompute): string {
  return `
  SELECT ${slotOf('accepted')} AS slot, first_carrier AS carrier, of_sender AS sender,
    if(endsWith(why, '${hedgeReasons.receipt}'), 'receipt', 'response') AS by_rule,
    if(startsWith(why, '${controlGroup}'), 'control', 'yes') AS copied, toInt64(1) AS counted, is_delivered,
    is_delivered AND copied = 'yes' AND delivered_hop > hedged_hop AS is_second_first,
    greatest(0, dateDiff('millisecond', hedged_at, delivered_at)) AS took_ms
  FROM (
    SELECT any(h.accepted_at) AS accepted, any(h.sender) AS of_sender, min(h.at) AS hedged_at,
      argMin(h.carrier, h.at) AS first_carrier, argMin(h.error, h.at) AS why, argMin(h.hop, h.at) AS hedged_hop,
      max(d.was_delivered) AS is_delivered, minIf(d.at, d.was_delivered) AS delivered_at,
      argMinIf(d.hop, (d.at, d.hop), d.was_delivered) AS delivered_hop
    FROM (
      SELECT message_id, hop, at, true AS was_delivered FROM otp_messages WHERE kind = 'delivered' AND ${accepted(read)}
    ) AS d
    RIGHT JOIN (
      SELECT message_id, accepted_at, carrier, sender, error, hop, at FROM sms_events WHERE kind = 'hedged' AND ${accepted(read)}
    ) AS h ON d.message_id = h.message_id
    GROUP BY h.message_id
  )`;
}

const messages = 'sum(counted)';
const delivered = 'countIf(is_delivered)';
const soon = `countIf(is_delivered AND took_ms <= ${soonMs})`;

const ofControl = (measure: string) => `sumIf(${measure}, k_second_copy = 'control') OVER peers`;
const [all, came] = ['m_messages', 'm_delivered_10s'];
const [allOfControl, cameOfControl] = [ofControl(all), ofControl(came)];
const [here, there] = [`(${came} / ${all})`, `(${cameOfControl} / ${allOfControl})`];
const bound = (sign: '+' | '-') => wilsonSql(came, all, sign);
const boundOfControl = (sign: '+' | '-') => wilsonSql(cameOfControl, allOfControl, sign);
/** The bounds of a difference of two shares (Newcombe 1998, method 10). */
const gain = `${here} - ${there}`;
const low = `${gain} - sqrt(pow(${here} - ${bound('-')}, 2) + pow(${boundOfControl('+')} - ${there}, 2))`;
const high = `${gain} + sqrt(pow(${bound('+')} - ${here}, 2) + pow(${there} - ${boundOfControl('-')}, 2))`;
const saved = (sql: string) => `if(k_second_copy = 'control' OR ${allOfControl} = 0, NULL, round(${sql}, 4))`;

export const hedging: Report = {
  name: 'hedging',
  title: 'What second copies of one-time passwords brought',
  description:
    'One-time passwords that waited longer than usual for their carrier, by the rule that found them (`response`, `receipt`) and by ' +
    '`second_copy`: `yes`, or `control` for the control group, which was late in the same way and got none. Times count from the ' +
    'moment of that decision; the carrier is the one that was late. Messages count at the time of their acceptance.',
  table: 'otp_messages',
  computed: hedgedRows,
  size: {
    of: 'events',
    max: limits.reports.readEventsMax,
    count: (read) => `SELECT count() FROM sms_events WHERE ${accepted(read)}`,
  },
  groupBy: ['hour', 'day', 'carrier', 'sender'],
  filters: ['carrier', 'sender'],
  always: [
    key('rule', '`response`: no answer of the carrier came in its usual time; `receipt`: no receipt', 'by_rule'),
    key(
      'second_copy',
      '`yes`: decided, also where it could not be sent then; `control`: the control group, without one',
      'copied',
    ),
  ],
  measures: [
    count('messages', 'that were late', messages),
    count('delivered', 'with a receipt that says delivered, of either copy', delivered),
    share('delivered_share', 'delivered', 'messages', shareSql(delivered, messages)),
    count('delivered_10s', 'delivered within 10 s of the decision', soon),
    share('delivered_10s_share', 'delivered_10s', 'messages', shareSql(soon, messages)),
    ...percentiles({
      percents: [50, 95],
      prefix: 'delivered_',
      help: 'of the delivered ones came within this time of the decision',
      aggregate: (levels) => `quantilesExactWeightedIf(${levels})(took_ms, 1, is_delivered)`,
      ms: (quantile) => `if(${delivered} = 0, NULL, toUInt32(${quantile}))`,
    }),
    count('second_copy_first', 'delivered first by the second copy', 'countIf(is_second_first)'),
  ],
  compared: [
    compared(
      'share',
      'saved_share',
      'of rows with a second copy: delivered_10s_share less that of the control group of the same rule, and of the same hour, day, ' +
        'carrier and sender where grouped by them; null without a control group',
      saved(gain),
    ),
    compared(
      'share',
      'saved_share_low',
      'with 95 % certainty it is at least this: below 0, chance may explain what was saved',
      saved(low),
    ),
    compared('share', 'saved_share_high', 'and at most this', saved(high)),
  ],
  peersOf: ['hour', 'day', 'carrier', 'sender', 'rule'],
  reads: ['by_rule', 'copied', 'counted', 'is_delivered', 'is_second_first', 'took_ms'],
  counted: 'counted',
};
