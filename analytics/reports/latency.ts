// The report of how long messages took, as data (report.ts).
import { type Report, type ReportColumn, overMessages } from './report.ts';

const percents = [50, 90, 95, 99] as const;

/**
 * One aggregate for all of them. A count that was taken back is a weight of -1, and weights are added up modulo 2^64: what
 * is left of each bucket is exact.
 */
const buckets = `quantilesExactWeighted(${percents.map((percent) => percent / 100).join(', ')})(bucket, toUInt64(messages))`;

/** The middle of the bucket (latency-buckets.ts), in whole milliseconds. */
function percentile(percent: number, at: number): ReportColumn {
  const bucket = `${buckets}[${at + 1}]`;
  return {
    name: `p${percent}_ms`,
    unit: 'ms',
    help: `${percent} % took at most this, to within 2.5 %`,
    sql: `if(sum(messages) <= 0, NULL, toUInt32(if(${bucket} = 0, 0, round(pow(1.05, ${bucket} - 0.5)))))`,
  };
}

export const latency: Report = {
  ...overMessages,
  name: 'latency',
  title: 'How long messages took',
  description:
    'Percentiles of each stage over the messages that have come through it. A scheduled message counts from the time it ' +
    'was due. Times are counted by buckets that are 5 % wide, so that percentiles hold under every grouping.',
  table: 'latency_counts',
  where: '',
  groupBy: ['hour', 'day', 'carrier', 'category'],
  filters: ['carrier', 'category'],
  always: [
    {
      name: 'stage',
      unit: 'text',
      help: '`accepted_to_submitted`, `submitted_to_delivered` or `accepted_to_delivered`',
      sql: 'stage',
    },
  ],
  measures: [
    { name: 'messages', unit: 'count', help: 'messages that have come through the stage', sql: 'sum(messages)' },
    ...percents.map(percentile),
  ],
  reads: ['stage', 'bucket', 'messages'],
};
