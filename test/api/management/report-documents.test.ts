// What is written about reports elsewhere: the table of docs/reports.md (`npm test --
// test/api/management/report-documents -u` writes it again), and the causes of errors.
import { readFileSync } from 'node:fs';
import { expect, test } from 'vitest';
import { reports } from '../../../analytics/reports/catalogue.ts';
import type { AuditedRefusal } from '../../../acceptance/refusal-audit.ts';
import { outcomeTable } from '../../../actors/carrier/outcome/outcome-table.ts';
import { errorCauses, statusCauses } from '../../../analytics/reports/error-causes.ts';
import { refusalCodes } from '../../../policy/contract.ts';
import { problemCatalogue } from '../../../api/problem-catalogue.ts';

const text = readFileSync(new URL('../../../docs/reports.md', import.meta.url), 'utf8');

test('docs/reports.md lists every report with its columns', async () => {
  const row = ({ name, help }: { name: string; help: string }) =>
    `\`${name}\`${help === '' || help === name ? '' : `: ${help}`}`;
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

const audited: readonly AuditedRefusal['code'][] = [...refusalCodes, 'otp_blocked', 'otp_challenge'];

test('every refusal that is recorded has a cause in the report of errors, in the words of the catalogue', () => {
  expect(audited.filter((code) => !Object.hasOwn(errorCauses, code))).toEqual([]);
  const gates = Object.entries(errorCauses).filter(([code]) => Object.hasOwn(problemCatalogue, code));
  for (const [code, { cause, whoActs }] of gates) {
    const { title, actor } = problemCatalogue[code as 'no_route'];
    expect([code, cause, whoActs]).toEqual([code, title, actor]);
  }
});

test('every status that answers a submit has a cause of its own; the others belong to another operation', () => {
  const others = Object.entries(outcomeTable).filter(([, { why }]) => why.startsWith('belongs to another operation'));
  expect(Object.keys(outcomeTable).filter((status) => !Object.hasOwn(statusCauses, status))).toEqual(
    others.map(([status]) => status),
  );
  expect(errorCauses['ESME_RINVDSTADR']?.cause).toBe('The number is wrong, or the carrier does not serve it');
});
