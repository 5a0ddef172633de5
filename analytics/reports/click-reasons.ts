// The report of why clicks have their class, as data (report.ts).
import { clickClasses } from '../../model/click-class.ts';
import { type Report, overMessages } from './report.ts';

const bits = clickClasses.map((_, at) => 2 ** at).join(', ');
const names = clickClasses.map((name) => `'${name}'`).join(', ');

export const clickReasons: Report = {
  ...overMessages,
  name: 'click-reasons',
  title: 'Why clicks have their class',
  description:
    'Clicks by class and by the signs that decided it, at the time of the acceptance of the message: for whoever judges otherwise.',
  table: 'click_counts',
  where: "what = 'clicks'",
  always: [
    {
      name: 'class',
      unit: 'text',
      help: '`human`, `preview`, `scanner` or `unknown`',
      sql: `transform(classes, [${bits}], [${names}], '')`,
    },
    { name: 'reasons', unit: 'text', help: 'separated by commas; docs/clicks.md explains them', sql: 'reasons' },
  ],
  measures: [{ name: 'clicks', unit: 'count', help: 'clicks', sql: 'sum(counts)' }],
  reads: ['classes', 'reasons', 'counts'],
  counted: 'counts',
};
