// The report of who followed short links, as data (report.ts).
import { type ClickClass, clickClasses } from '../../model/click-class.ts';
import { type Report, type ReportColumn, overMessages } from './report.ts';

const bitOf = (name: ClickClass): number => 2 ** clickClasses.indexOf(name);

const ofClass = (name: ClickClass, help: string): ReportColumn => ({
  name: `clicks_${name}`,
  unit: 'count',
  help,
  sql: `sumIf(counts, what = 'clicks' AND classes = ${bitOf(name)})`,
});

const messages = "sumIf(counts, what = 'messages')";
/** Each message has one first click under every choice of classes that it was clicked by. */
const isFirst = "what = 'first_click' AND classes = {classes:UInt8}";
const clicked = `sumIf(counts, ${isFirst})`;
const percents = [50, 90] as const;
const buckets = `quantilesExactWeightedIf(${percents.map((percent) => percent / 100).join(', ')})(bucket, toUInt64(counts), ${isFirst})`;

/** The middle of the bucket, as in the report `latency`; links live for longer than 32 bits of milliseconds. */
function percentile(percent: number, at: number): ReportColumn {
  const bucket = `${buckets}[${at + 1}]`;
  return {
    name: `first_click_p${percent}_ms`,
    unit: 'ms',
    help: `${percent} % of these were first clicked within this time, to within 2.5 %`,
    sql: `if(${clicked} <= 0, NULL, toUInt64(if(${bucket} = 0, 0, round(pow(1.05, ${bucket} - 0.5)))))`,
  };
}

export const clicks: Report = {
  ...overMessages,
  name: 'clicks',
  title: 'Who followed short links',
  description:
    'Messages with short links (`track_clicks`) and the clicks on them, at the time of the acceptance of the message, however ' +
    'late the click. `classes` says whose clicks make a message a clicked one. The carrier is the first of its route.',
  table: 'click_counts',
  where: '',
  always: [],
  measures: [
    { name: 'messages', unit: 'count', help: 'that were given short links', sql: messages },
    ofClass('human', 'clicks of people'),
    ofClass('preview', 'of apps that show what is behind a link'),
    ofClass('scanner', 'of programs that check links'),
    ofClass('unknown', 'with one sign that it may be no person'),
    { name: 'clicked', unit: 'count', help: 'messages with a click of the chosen classes', sql: clicked },
    {
      name: 'clicked_share',
      unit: 'share',
      help: 'click-through rate: clicked ÷ messages',
      sql: `if(${messages} = 0, NULL, round(${clicked} / ${messages}, 4))`,
    },
    ...percents.map(percentile),
  ],
  reads: ['what', 'classes', 'bucket', 'counts'],
  counted: 'counts',
  choice: {
    name: 'classes',
    values: clickClasses,
    default: ['human'],
    help: 'whose clicks count for `clicked` and the time to the first click, which is from when the message was due',
  },
};
