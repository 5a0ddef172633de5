// The reports of who followed short links and why clicks have their class, as data (report.ts).
import { type ClickClass, classBits, clickClasses } from '../../model/click-class.ts';
import { percentiles } from './percentiles.ts';
import { type Report, bucketMsSql, count, key, overMessages, share, shareSql } from './report.ts';

const ofClass = (name: ClickClass, help: string) =>
  count(`clicks_${name}`, help, `sumIf(counts, what = 'clicks' AND classes = ${classBits([name])})`);

/** Messages that were given short links. */
export const linked = "sumIf(counts, what = 'messages')";
/** Each message has one first click under every choice of classes that it was clicked by. */
const isFirst = "(what = 'first_click' AND classes = {classes:UInt8})";
/** The key of the tiers has `classes`: first clicks under other choices are not read. */
const ofTheChoice = `what != 'first_click' OR ${isFirst}`;
/** What a report needs that shows clicks of people only. */
export const ofPeople = `what = 'messages' OR (what = 'clicks' AND classes = ${classBits(['human'])}) OR ${isFirst}`;
const clickedSql = `sumIf(counts, ${isFirst})`;
export const humanClicks = ofClass('human', 'clicks of people');
export const clicked = count('clicked', 'messages with a click of the chosen classes', clickedSql);
export const clickedShare = (whole: string) =>
  share('clicked_share', 'clicked', whole, shareSql(clickedSql, linked), ': the click-through rate');

export const chosenClasses = (help: string): Report['choice'] => ({
  name: 'classes',
  values: clickClasses,
  default: ['human'],
  help,
});

export const clicks: Report = {
  ...overMessages,
  name: 'clicks',
  title: 'Who followed short links',
  description:
    'Messages with short links (`track_clicks`) and the clicks on them, at the time of the acceptance of the message, however ' +
    'late the click. `classes` says whose clicks make a message a clicked one. The carrier is the first of its route.',
  table: 'click_counts',
  where: ofTheChoice,
  measures: [
    count('messages', 'that were given short links', linked),
    humanClicks,
    ofClass('preview', 'of apps that show what is behind a link'),
    ofClass('scanner', 'of programs that check links'),
    ofClass('unknown', 'with one sign that it may be no person'),
    clicked,
    clickedShare('messages'),
    ...percentiles({
      percents: [50, 90],
      prefix: 'first_click_',
      help: 'of these were first clicked within this time, to within 2.5 %',
      aggregate: (levels) => `quantilesExactWeightedIf(${levels})(bucket, toUInt64(counts), ${isFirst})`,
      // Links live for longer than 32 bits of milliseconds.
      ms: (bucket) => bucketMsSql(clickedSql, bucket, 'UInt64'),
    }),
  ],
  reads: ['what', 'classes', 'bucket', 'counts'],
  counted: 'counts',
  choice: chosenClasses(
    'whose clicks count for `clicked` and the time to the first click, which is from when the message was due',
  ),
};

const bits = clickClasses.map((name) => classBits([name])).join(', ');
const names = clickClasses.map((name) => `'${name}'`).join(', ');

export const clickReasons: Report = {
  ...overMessages,
  name: 'click-reasons',
  title: 'Why clicks have their class',
  description:
    'Clicks by class and by the signs that decided it, at the time of the acceptance of the message: for those who judge otherwise.',
  table: 'click_counts',
  only: 'onlyClicks',
  always: [
    key('class', '`human`, `preview`, `scanner` or `unknown`', `transform(classes, [${bits}], [${names}], '')`),
    key('reasons', 'separated by commas; docs/clicks.md explains them', 'reasons'),
  ],
  measures: [count('clicks', 'clicks', 'sum(counts)')],
  reads: ['what', 'classes', 'reasons', 'counts'],
  counted: 'counts',
};
