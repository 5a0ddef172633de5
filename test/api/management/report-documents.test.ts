// What stands about reports elsewhere: the table of docs/reports.md (`npx vitest run test/api/management/report-documents -u`
// writes it again), and the causes of errors.
import { readFileSync } from 'node:fs';
import { expect, test } from 'vitest';
import { reports } from '../../../analytics/reports/catalogue.ts';
import { errorCauses } from '../../../analytics/reports/error-causes.ts';
import { problemCatalogue } from '../../../api/problem-catalogue.ts';

const text = readFileSync(new URL('../../../docs/reports.md', import.meta.url), 'utf8');

test('docs/reports.md lists every report with its columns', async () => {
  const row = ({ name, unit, help }: { name: string; unit: string; help: string }) =>
    `\`${name}\`${unit === 'text' || help === name ? '' : `: ${help}`}`;
  const table = [
    '| report | counts | by | columns |',
    '|---|---|---|---|',
    ...reports.map(
      (report) =>
        `| \`${report.name}\` | ${report.description} | ${report.groupBy.join(', ')} | ${[...report.always, ...(report.derived ?? []), ...report.measures, ...(report.compared ?? [])].map(row).join(' · ')} |`,
    ),
  ].join('\n');
  const made = text.replace(
    /(<!-- made from analytics\/reports\/ -->\n)[\s\S]*?(<!-- end -->)/,
    (_, begin, end) => `${begin}\n${table}\n\n${end}`,
  );
  await expect(made).toMatchFileSnapshot('../../../docs/reports.md');
});

test('refusals of gates have the words of the catalogue', () => {
  const gates = Object.entries(errorCauses).filter(([code]) => Object.hasOwn(problemCatalogue, code));
  expect(gates.length).toBeGreaterThan(15);
  for (const [code, { cause, whoActs }] of gates) {
    const { title, actor } = problemCatalogue[code as 'no_route'];
    expect([code, cause, whoActs]).toEqual([code, title, actor]);
  }
});
