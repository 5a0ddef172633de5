// `heliograph audit` against a real database; what it verifies with as a process, whose exit code scripts read.
import { afterAll, beforeAll, expect, test } from 'vitest';
import { runCliHere } from '../support/cli-here.ts';
import { runCli } from '../support/cli.ts';
import { type TestDatabase, startDatabase } from '../support/database.ts';
import { asked } from '../support/postgres.ts';
import { newAccount } from '../support/tenants.ts';

let database: TestDatabase;
beforeAll(async () => {
  database = await startDatabase();
});
afterAll(() => database?.stop());

const env = () => ({
  DATABASE_URL: database.postgres.applicationUrl,
  DATABASE_OWNER_URL: database.postgres.ownerUrl,
});
const asProcess = (...words: string[]) => runCli(words, env());
const cli = (...words: string[]) => runCliHere(words, env());

test('reports an intact log and its end; a changed record is named, with exit code 1', async () => {
  const accountId = await newAccount(database.store);
  expect((await cli('accounts', 'suspend', accountId)).code).toBe(0);
  const sound = await asProcess('audit', 'verify', '--json');
  expect(sound.code).toBe(0);
  const { ok, rows, head } = JSON.parse(sound.stdout);
  expect({ ok, rows }).toEqual({ ok: true, rows: 2 });
  const [latest] = JSON.parse((await cli('audit', '--limit', '1', '--json')).stdout).data;
  // The command line records the user and the machine.
  expect(latest).toMatchObject({
    action: 'account.suspended',
    actor: 'operator',
    from: expect.stringMatching(/^.+@.+$/),
  });
  const partitions = JSON.parse((await cli('audit', 'partitions', '--json')).stdout).data;
  expect(partitions).toMatchObject([{ object: 'audit_partition', rows: 2, first_row: 1, last_row: 2 }]);
  const { month, table } = partitions[0];
  expect((await cli('audit', 'detach', month)).stderr).toContain('still_written');
  await asked(database.postgres.ownerUrl, `drop trigger audit_log_stays on ${table}`);
  await asked(database.postgres.ownerUrl, `update ${table} set actor = 'nobody' where id = 2`);
  const broken = await asProcess('audit', 'verify', '--expect', head, '--json');
  expect(broken.code).toBe(1);
  expect(JSON.parse(broken.stdout)).toMatchObject({ ok: false, broken_at: 2 });
});
