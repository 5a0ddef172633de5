// The statements that make and remove the SQL user of an account, against a file that a person reads, and their shape.
import { expect, test } from 'vitest';
import { publicTables } from '../../../analytics/sql/public-tables.ts';
import { createStatements, dropStatements, literal, quoted, sqlUserOf } from '../../../analytics/sql/sql-user.ts';
import { newAccountId } from '../../../model/ids.ts';
import type { AccountId } from '../../../model/ids.ts';

const plan = sqlUserOf('acc_01M7VQWTBKXY1V7RTFZHWDQ99Q' as AccountId, 'heliograph');
const [password, readerPassword] = ['a'.repeat(64), 'b'.repeat(64)];
const create = createStatements(plan, password, readerPassword);

test('the statements are these (`npm test -- test/analytics/sql/sql-user -u` writes them again)', async () => {
  const text = ['-- create and rotate', ...create, '', '-- drop', ...dropStatements(plan)].join(';\n');
  await expect(`${text.replaceAll(/^(--.*|);$/gm, '$1')};\n`).toMatchFileSnapshot('./support/sql-user.sql');
});

test('the policies of a table come before the right to read it, and the login after everything but its own rights', () => {
  const at = (pattern: RegExp) => create.findIndex((statement) => pattern.test(statement));
  for (const { name } of publicTables) {
    const policies = create.flatMap((each, index) =>
      each.includes('ROW POLICY') && each.includes(`\`${name}\``) ? [index] : [],
    );
    expect(policies).toHaveLength(3);
    expect(Math.max(...policies)).toBeLessThan(at(new RegExp(`^GRANT SELECT\\(.*\`heliograph\`\\.\`${name}\` TO`)));
  }
  const login = create.findIndex((each) => each.startsWith(`CREATE USER \`${plan.user}\``));
  expect(login).toBeGreaterThan(at(/^CREATE OR REPLACE VIEW.*link_clicks/));
  expect(
    create.slice(login + 1).every((each) => each.startsWith('ALTER QUOTA') || /^GRANT SELECT ON .*`sql_acc/.test(each)),
  ).toBe(true);
});

test('the login has rights on its views only, and nobody logs in as the reader', () => {
  const toLogin = create.filter((each) => each.startsWith('GRANT') && each.endsWith(`TO \`${plan.user}\``));
  expect(toLogin).toHaveLength(publicTables.length);
  for (const grant of toLogin) expect(grant).toMatch(/^GRANT SELECT ON `sql_acc_\w+`\.`\w+` TO/);
  expect(create.find((each) => each.startsWith('CREATE USER OR REPLACE'))).toMatch(/ HOST NONE$/);
});

test('only ids of accounts and hashes become part of a statement', () => {
  for (const id of ["acc_'; DROP TABLE sms_events; --", 'acc_x` TO x', ''])
    expect(() => sqlUserOf(id as AccountId, 'default')).toThrow();
  expect(() => createStatements(plan, "x' HOST ANY", readerPassword)).toThrow();
  const odd = sqlUserOf(newAccountId(1), 'a`b\\');
  expect(createStatements(odd, password, readerPassword).join()).toContain('`a\\`b\\\\`.`sms_events`');
  expect([quoted('`'), literal("it's \\")]).toEqual(['`\\``', "'it\\'s \\\\'"]);
});
