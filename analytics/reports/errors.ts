// The report of why messages were not delivered, as data (report.ts).
import { causeSql, whoActsSql } from './error-causes.ts';
import { type Report, overMessages } from './report.ts';

export const errors: Report = {
  ...overMessages,
  name: 'errors',
  title: 'Why messages were not delivered',
  description:
    'Messages that ended without a delivery and refused requests, by status and error, with the cause in plain words and ' +
    'who can do something about it.',
  where: "status NOT IN ('scheduled', 'accepted', 'submitted', 'delivered', 'canceled')",
  always: [
    { name: 'status', unit: 'text', help: 'the status; `refused` for refused requests', sql: 'status' },
    { name: 'error', unit: 'text', help: 'as `error` of the message', sql: 'error' },
  ],
  derived: [
    { name: 'cause', unit: 'text', help: 'in plain words', sql: causeSql },
    {
      name: 'who_acts',
      unit: 'text',
      help: '`client` (the calling program), `owner` (of the account), `operator`, `carrier` or `nobody`',
      sql: whoActsSql,
    },
  ],
  measures: [{ name: 'messages', unit: 'count', help: 'messages, or refused requests', sql: 'sum(messages)' }],
  reads: ['status', 'error', 'messages'],
};
