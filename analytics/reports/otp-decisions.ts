// The report of what the guard against fraud decided, as data (report.ts).
import { otpDecisionRows } from './otp-rows.ts';
import type { Report } from './report.ts';

export const otpDecisions: Report = {
  name: 'otp-decisions',
  title: 'What the guard against fraud decided',
  description:
    'Blocks of numbers, their releases, and refused requests for one-time passwords, by rule, with the figures they rest on; also ' +
    'what rules in shadow mode would have done. Blocks are ended by `POST /v1/otp-guard/blocks/{prefix}/release`.',
  table: 'otp_guard_decisions',
  rows: otpDecisionRows,
  where: '',
  groupBy: ['hour', 'day', 'prefix'],
  filters: ['prefix'],
  always: [
    { name: 'what', unit: 'text', help: '`block`, `release` or `refusal` of a request', sql: 'decision' },
    { name: 'rule', unit: 'text', help: 'docs/otp-guard.md explains them', sql: 'by_rule' },
    { name: 'action', unit: 'text', help: 'of refusals: `block` or `challenge`', sql: 'asked' },
    { name: 'mode', unit: 'text', help: '`on`, or `shadow`: reported only', sql: 'in_mode' },
  ],
  measures: [
    { name: 'decisions', unit: 'count', help: 'of a flood of refusals only a part is kept', sql: 'sum(counted)' },
    { name: 'figure_max', unit: 'rate', help: 'the greatest figure of the rule', sql: 'round(max(figure), 3)' },
    { name: 'threshold', unit: 'rate', help: 'of the last one', sql: 'round(argMax(bound, happened), 3)' },
    {
      name: 'last_at',
      unit: 'text',
      help: 'the last one, in UTC',
      sql: "formatDateTime(max(happened), '%FT%TZ', 'UTC')",
    },
    {
      name: 'last_until',
      unit: 'text',
      help: 'until when the last block lasts, or was released, in UTC; empty for refusals',
      sql: "if(max(until_at) <= toDateTime64(0, 3, 'UTC'), '', formatDateTime(max(until_at), '%FT%TZ', 'UTC'))",
    },
  ],
  reads: ['decision', 'by_rule', 'asked', 'in_mode', 'figure', 'bound', 'happened', 'until_at', 'counted'],
  counted: 'counted',
};
