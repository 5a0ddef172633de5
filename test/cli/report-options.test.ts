// `heliograph report` offers what the catalogue of reports has, as the route of each report does.
import { describe, expect, it, test } from 'vitest';
import { reports } from '../../analytics/reports/catalogue.ts';
import { reportParameters } from '../../api/management/report-query.ts';
import { program } from '../../cli/program.ts';
import { runCliHere } from '../support/cli-here.ts';

const command = program.commands.find((each) => each.name() === 'report');
const helpOf = (option: string) => command?.options.find(({ long }) => long === option)?.description ?? '';
const optionOf = (parameter: string) => `--${parameter.replaceAll('_', '-')}`;
const account = `acc_${'0'.repeat(26)}`;
const nowhere = { HELIOGRAPH_DATA: '/nowhere/heliograph', NATS_URL: undefined };

test('its options are the parameters of all reports', () => {
  const parameters = new Set(reports.flatMap((report) => Object.keys(reportParameters(report).shape)));
  const others = ['--account', '--test', '--json'];
  const options = command?.options.map(({ long }) => long).filter((long) => !others.includes(long ?? ''));
  expect(options?.toSorted()).toEqual([...parameters].map(optionOf).toSorted());
});

describe.each(reports)('of the report $name', (report) => {
  it('the help names what it may be grouped by and what may be chosen', () => {
    expect(command?.description()).toContain(report.name);
    const dimensions = /^up to two of ([^;]+);/.exec(helpOf('--group-by'))?.[1]?.split(', ');
    expect(dimensions).toEqual(expect.arrayContaining([...report.groupBy]));
    if (report.choice === undefined) return;
    const { name, values } = report.choice;
    const [names = '', help] = helpOf(optionOf(name)).split(': ');
    expect(names.split(/^of | and /)).toContain(report.name);
    expect(help).toContain(`some of ${values.join(', ')}`);
  });

  it('every parameter is taken as an option and reaches the check of the route', async () => {
    const values = [
      ...report.filters.map((name) => [name, 'x']),
      ['group_by', report.groupBy[0]],
      ['time_zone', 'UTC'],
    ];
    if (report.choice !== undefined) values.push([report.choice.name, report.choice.values.join(',')]);
    const options = values.flatMap(([name = '', value = '']) => [optionOf(name), value]);
    const run = (...more: string[]) =>
      runCliHere(['report', report.name, '--account', account, ...options, ...more], nowhere);
    expect((await run()).stderr).toMatch(/^Heliograph does not run on/);
    expect((await run('--group-by', 'weather')).stderr).toMatch(/^invalid_field: group_by: "weather" is not one of /);
  });
});

test('a parameter of other reports is refused by its name', async () => {
  const words = ['report', 'delivery', '--account', account, '--prefix', '+88017'];
  expect((await runCliHere(words, nowhere)).stderr).toMatch(/^unknown_field: prefix: is not a query parameter /);
});
