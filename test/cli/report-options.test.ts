// `heliograph report` offers what the catalogue of reports has, as the route of each report does.
import { describe, expect, it, test } from 'vitest';
import { reportOf, reports } from '../../analytics/reports/catalogue.ts';
import type { Filter, Report } from '../../analytics/reports/report.ts';
import { reportParameters } from '../../api/management/report-query.ts';
import { program } from '../../cli/program.ts';
import { runCliHere } from '../support/cli-here.ts';

const command = program.commands.find((each) => each.name() === 'report');
const helpOf = (option: string) => command?.options.find(({ long }) => long === option)?.description ?? '';
const optionOf = (parameter: string) => `--${parameter.replaceAll('_', '-')}`;
const account = `acc_${'0'.repeat(26)}`;
/** Of filters that do not take every text. */
const valid: { readonly [name in Filter]?: string } = { category: 'otp', prefix: '+8801712' };
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
    const values = [...report.filters.map((name) => [name, valid[name] ?? 'x']), ['time_zone', 'UTC']];
    if (report.choice !== undefined) values.push([report.choice.name, report.choice.values.join(',')]);
    const options = values.flatMap(([name = '', value = '']) => [optionOf(name), value]);
    const run = (group = '') =>
      runCliHere(['report', report.name, '--account', account, ...options, '--group-by', group], nowhere);
    expect((await run(report.groupBy[0])).stderr).toMatch(/^Heliograph does not run on/);
    expect((await run('weather')).stderr).toMatch(/^invalid_field: group_by: "weather" is not one of /);
  });
});

test('the help says that messages without a campaign are left out', () => {
  const said = /leaves out messages without a campaign/;
  expect(helpOf('--group-by')).toMatch(said);
  const ofRoute = (name: string) => {
    const shape: Readonly<Record<string, { readonly description?: string | undefined }>> = reportParameters(
      reportOf(name) as Report,
    ).shape;
    return shape['group_by']?.description;
  };
  expect(ofRoute('delivery')).toMatch(said);
  expect(ofRoute('latency')).not.toMatch(said);
});

test('what is in every row already is refused as a group, and says so', async () => {
  const run = async (...words: string[]) =>
    (await runCliHere(['report', ...words, '--account', account], nowhere)).stderr;
  expect(await run('campaigns', '--group-by', 'campaign')).toBe(
    'invalid_field: group_by: "campaign" is in every row already\n',
  );
  expect(await run('errors', '--group-by', 'day,status')).toContain('group_by: "status" is in every row already');
  expect(await run('latency', '--group-by', 'campaign')).toContain('group_by: "campaign" is not one of ');
});

test('a variant is refused without its campaign', async () => {
  const stderr = async (...words: string[]) =>
    (await runCliHere(['report', ...words, '--account', account], nowhere)).stderr;
  const addCampaign = 'a variant is one of a campaign: add `campaign` to `group_by`, or filter by `campaign`';
  expect(await stderr('delivery', '--group-by', 'hour,variant')).toContain(`invalid_field: group_by: ${addCampaign}`);
  expect(await stderr('clicks', '--variant', 'a')).toContain(`invalid_field: variant: ${addCampaign}`);
  for (const words of [
    ['delivery', '--group-by', 'hour,variant', '--campaign', 'cmp_1'],
    ['clicks', '--group-by', 'campaign', '--variant', 'a'],
    ['campaigns', '--group-by', 'hour,variant'],
    ['campaigns', '--variant', 'a'],
  ]) {
    expect(await stderr(...words)).toMatch(/^Heliograph does not run on/);
  }
});

test('a parameter of other reports is refused by its name', async () => {
  const words = ['report', 'delivery', '--account', account, '--prefix', '+88017'];
  expect((await runCliHere(words, nowhere)).stderr).toMatch(/^unknown_field: prefix: is not a query parameter /);
});

test('a prefix that no number begins with is refused, as the route of the report does it', async () => {
  const run = async (prefix: string) =>
    (await runCliHere(['report', 'otp', '--account', account, '--prefix', prefix], nowhere)).stderr;
  for (const prefix of ['8801712', ' 8801712', '+', '+8801712345', '+0801712', '+88017x2'])
    expect([prefix, await run(prefix)]).toEqual([prefix, expect.stringMatching(/^invalid_field: prefix: must be /)]);
  for (const prefix of ['+8801712', '+1', '+880171234'])
    expect(await run(prefix)).toMatch(/^Heliograph does not run on/);
});

test('an option that is given twice is refused, of every command', async () => {
  const stderr = async (...words: string[]) => (await runCliHere(words, nowhere)).stderr;
  const twice = ['--group-by', 'day', '--group-by', 'carrier'];
  expect(await stderr('report', 'delivery', '--account', account, ...twice)).toMatch(
    /^error: option '--group-by <names>' argument 'carrier' is invalid. It must be given only once.$/m,
  );
  expect(await stderr('accounts', 'create', '--name', 'a', '--name', 'b')).toContain('It must be given only once.');
  expect(await stderr('report', 'delivery', '--account', account, '--group-by', 'day')).toMatch(/^Heliograph does not/);
});

test('--json beside a file of another form is refused', async () => {
  const run = async (format: string) =>
    (await runCliHere(['report', 'delivery', '--account', account, '--json', '--format', format], nowhere)).stderr;
  for (const format of ['csv', 'parquet'])
    expect(await run(format)).toMatch(/^--json is one JSON object, and --format /);
  expect(await run('json')).toMatch(/^Heliograph does not run on/);
});

test('by account is for every account, or one; beside it one more group, and no file', async () => {
  const run = async (...words: string[]) => (await runCliHere(['report', 'otp', ...words], nowhere)).stderr;
  expect(await run()).toBe('--account: say whose report it is, or ask for every account with --group-by account\n');
  for (const groups of ['account', 'account,carrier', 'carrier,account']) {
    expect(await run('--group-by', groups)).toMatch(/^Heliograph does not run on/);
    expect(await run('--group-by', groups, '--account', account)).toMatch(/^Heliograph does not run on/);
  }
  for (const groups of ['account,carrier,day', 'account,account'])
    expect(await run('--group-by', groups)).toBe('invalid_field: group_by: must be up to two, different ones\n');
  expect(await run('--group-by', 'account,weather')).toContain('group_by: "weather" is not one of ');
  expect(await run('--group-by', 'account', '--format', 'csv')).toMatch(/^--format: a file is of one account/);
});
