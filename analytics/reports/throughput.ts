// The report of how much was sent, as data (report.ts).
import { type Report, overMessages } from './report.ts';
import { notRefused } from './tiers.ts';

export const throughput: Report = {
  ...overMessages,
  name: 'throughput',
  title: 'How much was sent',
  description: 'Messages and segments, and how many a second that is on average over the time of each row.',
  where: notRefused,
  always: [],
  measures: [
    { name: 'messages', unit: 'count', help: 'accepted', sql: 'sum(messages)' },
    {
      name: 'segments_submitted',
      unit: 'count',
      help: 'segments that a carrier took, each once',
      sql: 'sum(segments_submitted)',
    },
    { name: 'seconds', unit: 'count', help: 'length of the time of the row', sql: 'seconds' },
    { name: 'messages_per_second', unit: 'rate', help: 'messages ÷ seconds', sql: 'round(sum(messages) / seconds, 3)' },
    {
      name: 'segments_per_second',
      unit: 'rate',
      help: 'segments submitted ÷ seconds',
      sql: 'round(sum(segments_submitted) / seconds, 3)',
    },
  ],
  reads: ['messages', 'segments_submitted'],
};
