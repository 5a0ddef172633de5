// The report of what became of messages, as data (report.ts).
import { type Report, type ReportColumn, overMessages } from './report.ts';

const ofStatus = (status: string, help: string): ReportColumn => ({
  name: status,
  unit: 'count',
  help,
  sql: `sumIf(messages, status = '${status}')`,
});

const messages = "sumIf(messages, status != 'refused')";

export const delivery: Report = {
  ...overMessages,
  name: 'delivery',
  title: 'What became of messages',
  description:
    'Messages by their present status, at the time of their acceptance: a receipt that comes days later changes its hour.',
  where: '',
  always: [],
  measures: [
    { name: 'messages', unit: 'count', help: 'accepted', sql: messages },
    ofStatus('scheduled', 'waiting for their time'),
    ofStatus('accepted', 'waiting for a carrier'),
    ofStatus('submitted', 'with a carrier, waiting for the receipt'),
    ofStatus('delivered', 'delivered'),
    ofStatus('undelivered', 'not delivered, by the receipt'),
    ofStatus('expired', 'not submitted or not delivered within their validity'),
    ofStatus('rejected', 'refused by the carrier'),
    ofStatus('unknown', 'without an outcome; a late receipt changes it'),
    ofStatus('failed', 'never submitted'),
    ofStatus('blocked', 'stopped by a gate after acceptance'),
    ofStatus('canceled', 'canceled before their time'),
    {
      name: 'delivered_share',
      unit: 'share',
      help: 'delivered ÷ messages',
      sql: `if(${messages} = 0, NULL, round(sumIf(messages, status = 'delivered') / ${messages}, 4))`,
    },
    { name: 'resent', unit: 'count', help: 'sent once more by the policy of the account', sql: 'sum(resent)' },
    {
      name: 'refused_requests',
      unit: 'count',
      help: 'requests that a gate refused (docs/gates.md), such as an unapproved sender; not those of wrong form, such as an unknown field. No messages, and in no other column',
      sql: "sumIf(messages, status = 'refused')",
    },
  ],
  reads: ['status', 'messages', 'resent'],
};
