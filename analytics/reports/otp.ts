// The report of the funnel of one-time passwords, as data (report.ts).
import { otpRows } from './otp-rows.ts';
import type { Report, ReportColumn } from './report.ts';

const started = 'sum(otp)';
const verified = "countIf(status = 'verified')";
const percents = [50, 90, 99] as const;

const count = (name: string, help: string, condition: string): ReportColumn => ({
  name,
  unit: 'count',
  help,
  sql: `countIf(${condition})`,
});

const share = (name: string, help: string, part: string, whole: string): ReportColumn => ({
  name,
  unit: 'share',
  help,
  sql: `if(${whole} = 0, NULL, round(${part} / ${whole}, 4))`,
});

export const otp: Report = {
  name: 'otp',
  title: 'What became of one-time passwords',
  description:
    'One-time passwords as they are now, at the time of their start: from the message to the code that was entered, and why ' +
    'others were not. The carrier is the last one that took a message; refused requests have a prefix and a time only.',
  table: 'otps',
  rows: otpRows,
  where: '',
  groupBy: ['hour', 'day', 'carrier', 'sender', 'prefix', 'language', 'purpose'],
  filters: ['carrier', 'sender', 'prefix', 'language', 'purpose'],
  always: [],
  measures: [
    { name: 'started', unit: 'count', help: 'one-time passwords', sql: started },
    { name: 'messages', unit: 'count', help: 'messages with their codes', sql: 'sum(sends)' },
    { name: 'submitted', unit: 'count', help: 'with a message that a carrier took', sql: 'sum(submitted)' },
    { name: 'delivered', unit: 'count', help: 'with a receipt that says delivered', sql: 'sum(delivered)' },
    { name: 'verified', unit: 'count', help: 'entered', sql: verified },
    count('pending', 'may still be entered', "status = 'pending'"),
    count('expired', 'not entered in time', "reason = 'expired'"),
    count('delivery_failed', 'not entered in time, and no message arrived', "reason = 'delivery_failed'"),
    count('max_attempts_reached', 'five wrong guesses', "reason = 'max_attempts_reached'"),
    count('locked', 'too many wrong guesses about the number', "reason = 'locked'"),
    count('canceled', 'canceled, also by another code of the same purpose that was entered', "status = 'canceled'"),
    share('delivered_share', 'delivered ÷ started', 'sum(delivered)', started),
    share('conversion', 'verified ÷ started', verified, started),
    share(
      'conversion_of_delivered',
      'verified among delivered ÷ delivered',
      "countIf(status = 'verified' AND delivered = 1)",
      'sum(delivered)',
    ),
    ...percents.map(
      (percent): ReportColumn => ({
        name: `verified_p${percent}_ms`,
        unit: 'ms',
        help: `${percent} % of the verified ones were entered within this time of their start`,
        sql: `if(${verified} = 0, NULL, toUInt32(quantileExactIf(${percent / 100})(took_ms, status = 'verified')))`,
      }),
    ),
    count(
      'blocked',
      'requests that the guard refused: no one-time passwords, and in no other column',
      "refused = 'block'",
    ),
    count('challenged', 'requests to which it answered with a challenge, likewise', "refused = 'challenge'"),
  ],
  reads: ['otp', 'sends', 'submitted', 'delivered', 'status', 'reason', 'took_ms', 'refused', 'counted'],
  counted: 'counted',
};
