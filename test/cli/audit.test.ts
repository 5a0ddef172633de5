// `heliograph audit` against a real database; what it verifies with as a process, whose exit code scripts read.
import { afterAll, beforeAll, expect, test } from 'vitest';
import { addAuditRecords } from '../../control/store/audit-log.ts';
import { newAuditId } from '../../model/ids.ts';
import { systemClock } from '../../platform/clock.ts';
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

test('what a reload changed is shown by name, from what to what', async () => {
  const values = {
    'otp.limits.sends.number': { from: '5/10m', to: '6/10m' },
    'otp.guard.safe_list': { from: 'sha256:1', to: 'sha256:2', added: ['+88018'], removed: [] },
  };
  const atMs = systemClock.nowMs();
  const about = { actor: 'operator', origin: 'here', action: 'config.reloaded', target: 'x.yaml' } as const;
  const record = { recordId: newAuditId(atMs), atMs, ...about, detail: { changed: ['otp'], values } };
  await addAuditRecords(database.store, [record]);
  const { stdout } = await cli('audit', '--action', 'config.reloaded');
  expect(stdout.trimEnd().split('  ').at(-1)).toBe(
    'changed: ["otp"], otp.guard.safe_list: sha256:1 → sha256:2, added ["+88018"], removed [], otp.limits.sends.number: 5/10m → 6/10m',
  );
});
