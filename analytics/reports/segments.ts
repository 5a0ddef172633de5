// The report of segments and encodings, as data (report.ts).
import { type Report, overMessages } from './report.ts';
import { notRefused } from './tiers.ts';

export const segments: Report = {
  ...overMessages,
  name: 'segments',
  title: 'Segments and encodings',
  description: 'How many segments messages have, in which encoding, and how many segments carriers were given.',
  where: notRefused,
  always: [
    { name: 'encoding', unit: 'text', help: '`gsm7` or `ucs2`', sql: 'encoding' },
    { name: 'segments_per_message', unit: 'count', help: 'segments of each of these messages', sql: 'segments' },
  ],
  measures: [
    { name: 'messages', unit: 'count', help: 'accepted', sql: 'sum(messages)' },
    { name: 'segments', unit: 'count', help: 'segments of these messages', sql: 'sum(messages * segments)' },
    {
      name: 'segments_submitted',
      unit: 'count',
      help: 'segments that a carrier took, each once',
      sql: 'sum(segments_submitted)',
    },
  ],
  reads: ['encoding', 'segments', 'messages', 'segments_submitted'],
};
