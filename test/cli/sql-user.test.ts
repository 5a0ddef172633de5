// `sql-user`: what is sent to a ClickHouse server, in which order, and what is said. The server here keeps no users (a test of
// the rights is test/analytics/sql/isolation.test.ts): it notes statements, and lists who was made.
import { mkdtempSync, rmSync } from 'node:fs';
import { type Server, createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, beforeEach, expect, test } from 'vitest';
import { type CommandsAudit, auditCommands } from '../../control/audit-commands.ts';
import { listAuditRecords } from '../../control/store/audit-log.ts';
import { type TestBus, startBus } from '../support/bus.ts';
import { runCliHere } from '../support/cli-here.ts';
import { runCli } from '../support/cli.ts';
import { type TestDatabase, startDatabase } from '../support/database.ts';
import { newAccount } from '../support/tenants.ts';
import { until } from '../support/until.ts';

let database: TestDatabase;
let on: TestBus;
let audit: CommandsAudit;
let server: Server;
let account: string;
const dataDir = mkdtempSync(join(tmpdir(), 'heliograph-sql-user-'));
let statements: string[] = [];
const users = new Set<string>();
/** What a new user gets that it asks for; null: a refusal. */
let given: string | null = null;
let passwords: string[] = [];

beforeAll(async () => {
  [database, on] = await Promise.all([startDatabase(), startBus()]);
  audit = auditCommands(on.bus, database.store);
  account = await newAccount(database.store);
  server = createServer(async (request, response) => {
    const body: Buffer[] = [];
    for await (const chunk of request) body.push(chunk as Buffer);
    const sql = Buffer.concat(body).toString();
    const user = request.headers['x-clickhouse-user'];
    if (user !== undefined) {
      passwords.push(String(request.headers['x-clickhouse-key']));
      if (given === null) return response.writeHead(403).end('Code: 497. DB::Exception: Not enough privileges.');
      return response.end(given);
    }
    if (sql.includes('currentDatabase()')) return response.end('["heliograph"]\n');
    if (sql.includes('system.users')) return response.end([...users].map((name) => `["${name}"]\n`).join(''));
    statements.push(sql.trim());
    const [, made] = /^CREATE USER `(\w+)`/.exec(sql) ?? [];
    if (made !== undefined) users.add(made);
    const [, gone] = /^DROP USER IF EXISTS `(\w+)`/.exec(sql) ?? [];
    if (gone !== undefined) users.delete(gone);
    return response.end();
  });
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
});
afterAll(async () => {
  await audit?.close();
  server?.closeAllConnections();
  server?.close();
  await Promise.all([database?.stop(), on?.stop()]);
  rmSync(dataDir, { recursive: true, force: true });
});
beforeEach(() => {
  [statements, passwords, given] = [[], [], null];
});

const cli = (words: readonly string[], clickhouse = true, run = runCliHere) =>
  run(['sql-user', ...words], {
    NATS_URL: on.nats.url,
    DATABASE_URL: database.postgres.applicationUrl,
    HELIOGRAPH_DATA: dataDir,
    CLICKHOUSE_URL: clickhouse ? `http://127.0.0.1:${(server.address() as AddressInfo).port}` : undefined,
  });
const recorded = (action: string) =>
  until(
    `a record of ${action}`,
    async () => (await listAuditRecords(database.store, { limit: 5, after: null, action })).items[0],
  );

test('creates, lists, rotates and drops the user of an account; each is audited and each password is another', async () => {
  const made = await cli(['create', '--account', account, '--json'], true, runCli);
  expect([made.code, made.stderr]).toEqual([0, '']);
  const shown = JSON.parse(made.stdout) as { user: string; password: string };
  expect(shown).toMatchObject({ object: 'sql_user', account, user: `sql_${account}`, database: `sql_${account}` });
  expect(shown.password).toMatch(/^[\w-]{32}$/);
  // The server is given a hash; the checks of isolation ran with the password itself.
  expect(statements.join('\n')).not.toContain(shown.password);
  expect(new Set(passwords)).toEqual(new Set([shown.password]));
  expect(await recorded('sql_user.created')).toMatchObject({ target: account, detail: { user: `sql_${account}` } });

  expect((await cli(['create', '--account', account])).stderr).toContain(`sql-user rotate --account ${account}`);
  expect(JSON.parse((await cli(['list', '--json'])).stdout)).toMatchObject({
    data: [{ account, user: `sql_${account}` }],
  });

  const first = statements.filter((each) => !each.includes('sha256_hash'));
  statements = [];
  const rotated = JSON.parse((await cli(['rotate', '--account', account, '--json'])).stdout) as { password: string };
  expect(rotated.password).not.toBe(shown.password);
  expect(statements.filter((each) => !each.includes('sha256_hash'))).toEqual(first);
  await recorded('sql_user.rotated');

  expect((await cli(['drop', '--account', account])).stdout).toBe(`Dropped  sql_${account}\n`);
  expect([...users]).toEqual([]);
  await recorded('sql_user.dropped');
  for (const verb of ['drop', 'rotate']) {
    const none = await cli([verb, '--account', account]);
    expect([none.code, none.stderr.includes('There is no user')]).toEqual([1, true]);
  }
});

test('a user that sees more than it should is removed before its password is shown', async () => {
  given = '1';
  const { code, stdout, stderr } = await cli(['create', '--account', account]);
  expect([code, stdout]).toEqual([1, '']);
  expect(stderr).toContain('rows of other accounts in sms_events');
  expect(stderr).toContain('select_from_system_db_requires_grant');
  expect([...users]).toEqual([]);
});

test('is refused for an account that is not there, and without a server', async () => {
  const unknown = await cli(['create', '--account', 'acc_01M7VQWTBKXY1V7RTFZHWDQ99Q']);
  expect([unknown.code, unknown.stderr]).toEqual([1, expect.stringContaining('account_not_found')]);
  const embedded = await cli(['list'], false);
  expect([embedded.code, embedded.stderr]).toEqual([1, expect.stringContaining('set CLICKHOUSE_URL')]);
  expect(statements).toEqual([]);
});
