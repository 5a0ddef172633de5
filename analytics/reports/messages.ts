// The reports of what became of messages, why, and how much was sent, as data (report.ts).
import { causeSql, whoActsSql } from './error-causes.ts';
import { percentiles } from './percentiles.ts';
import {
  type Report,
  bucketMsSql,
  count,
  derived,
  key,
  overMessages,
  rate,
  rateSql,
  share,
  shareSql,
} from './report.ts';
import { conditions } from './tiers.ts';

const ofStatus = (status: string, help: string) => count(status, help, `sumIf(messages, status = '${status}')`);
const messages = `sumIf(messages, ${conditions.notRefused})`;
export const accepted = count('messages', 'accepted', 'sum(messages)');
export const submitted = count(
  'segments_submitted',
  'segments that a carrier took, each once',
  'sum(segments_submitted)',
);
const delivered = "sumIf(messages, status = 'delivered')";

/** Each message has one. */
export const byStatus = [
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
];
export const deliveredShare = (ofAll: string) =>
  share('delivered_share', 'delivered', 'messages', shareSql(delivered, ofAll));

export const delivery: Report = {
  ...overMessages,
  name: 'delivery',
  title: 'What became of messages',
  description:
    'Messages by their present status, at the time of their acceptance: a receipt that comes days later changes its hour.',
  measures: [
    count('messages', 'accepted', messages),
    ...byStatus,
    deliveredShare(messages),
    count('resent', 'sent once more by the policy of the account', 'sum(resent)'),
    count(
      'refused_requests',
      'requests that a gate refused (docs/gates.md), such as an unapproved sender; not those of wrong form, such as an unknown field. No messages, and in no other column',
      "sumIf(messages, status = 'refused')",
    ),
  ],
  reads: ['status', 'messages', 'resent'],
};

export const errors: Report = {
  ...overMessages,
  name: 'errors',
  title: 'Why messages were not delivered',
  description:
    'Messages that ended without a delivery and refused requests, by status and error, with the cause in plain words and ' +
    'who can do something about it.',
  only: 'withError',
  always: [
    key('status', 'the status; `refused` for refused requests', 'status'),
    key('error', 'as `error` of the message', 'error'),
  ],
  derived: [
    derived('cause', 'in plain words', causeSql),
    derived(
      'who_acts',
      '`client` (the calling program), `owner` (of the account), `operator`, `carrier` or `nobody`',
      whoActsSql,
    ),
  ],
  measures: [count('messages', 'messages, or refused requests', 'sum(messages)')],
  reads: ['status', 'error', 'messages'],
};

export const segments: Report = {
  ...overMessages,
  name: 'segments',
  title: 'Segments and encodings',
  description: 'How many segments messages have, in which encoding, and how many segments carriers were given.',
  only: 'notRefused',
  always: [
    key('encoding', '`gsm7` or `ucs2`', 'encoding'),
    { ...key('segments_per_message', 'segments of each of these messages', 'segments'), unit: 'count' },
  ],
  measures: [accepted, count('segments', 'segments of these messages', 'sum(messages * segments)'), submitted],
  reads: ['encoding', 'segments', 'messages', 'segments_submitted'],
};

export const throughput: Report = {
  ...overMessages,
  name: 'throughput',
  title: 'How much was sent',
  description:
    'Messages and segments, and how many a second that is on average over what has passed of the time of each row.',
  only: 'notRefused',
  measures: [
    accepted,
    submitted,
    { ...count('seconds', 'what has passed of the time of the row', 'seconds'), countsNothing: true },
    rate('messages_per_second', 'messages ÷ seconds, to four digits', rateSql('sum(messages)')),
    rate('segments_per_second', 'segments submitted ÷ seconds, to four digits', rateSql('sum(segments_submitted)')),
  ],
  reads: ['messages', 'segments_submitted'],
};

export const latency: Report = {
  ...overMessages,
  name: 'latency',
  title: 'How long messages took',
  description:
    'Percentiles of each stage over the messages that have come through it. A scheduled message counts from the time it ' +
    'was due. Times are counted by buckets that are 5 % wide, so that percentiles hold under every grouping.',
  table: 'latency_counts',
  groupBy: ['hour', 'day', 'carrier', 'category'],
  filters: ['carrier', 'category'],
  always: [key('stage', '`accepted_to_submitted`, `submitted_to_delivered` or `accepted_to_delivered`', 'stage')],
  measures: [
    count('messages', 'messages that have come through the stage', 'sum(messages)'),
    ...percentiles({
      percents: [50, 90, 95, 99],
      prefix: '',
      help: 'took at most this, to within 2.5 %',
      aggregate: (levels) => `quantilesExactWeighted(${levels})(bucket, toUInt64(messages))`,
      ms: (bucket) => bucketMsSql('sum(messages)', bucket, 'UInt32'),
    }),
  ],
  reads: ['stage', 'bucket', 'messages'],
};
