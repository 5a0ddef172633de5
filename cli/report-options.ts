// The options of `report`, from the catalogue of reports.
import { reports } from '../analytics/reports/catalogue.ts';
import { campaignHelp, filterHelp } from '../analytics/reports/report.ts';

/** What the catalogue has: each way to group, filter and choose, of any report. */
export function reportOptions(): Record<string, string> {
  const option = (parameter: string, value: string) => `--${parameter.replaceAll('_', '-')} ${value}`;
  const helpOf = (sentence: string) => sentence.charAt(0).toLowerCase() + sentence.slice(1).replace(/\.$/, '');
  const filters = Object.entries(filterHelp).map(([name, sentence]) => [option(name, '<value>'), helpOf(sentence)]);
  const choices = reports.flatMap(({ choice }) => {
    if (choice === undefined) return [];
    const names = reports.filter((each) => each.choice?.name === choice.name).map(({ name }) => name);
    const help = `of ${names.join(' and ')}: some of ${choice.values.join(', ')} (default: ${choice.default.join(',')})`;
    return [[option(choice.name, '<names>'), help]];
  });
  const dimensions = new Set(reports.flatMap(({ groupBy }) => groupBy));
  return {
    '--group-by <names>': `up to two of ${[...dimensions].join(', ')}; each report has some of them; account: every report, a row for each account that has anything; ${helpOf(campaignHelp)}`,
    ...Object.fromEntries([...filters, ...choices]),
  };
}
