// What the SQL user of an account gets, on the real engine with its real access control: ClickHouse's HTTP interface over TCP
// in front of the embedded engine, which takes the plan's users from a file. Nothing here says how a server stores users.
import { execFile } from 'node:child_process';
import { mkdirSync, mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { promisify } from 'node:util';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { publicTables } from '../../../analytics/sql/public-tables.ts';
import { sqlUserOf, sqlUserSettings } from '../../../analytics/sql/sql-user.ts';
import { leaksOf } from '../../../cli/sql-user.ts';
import { newAccountId } from '../../../model/ids.ts';
import { type TestClickHouse, startClickHouse } from '../support/clickhouse-server.ts';
import { usersXml } from './support/users-xml.ts';

const dir = mkdtempSync(join(tmpdir(), 'heliograph-isolation-'));
const dataDir = join(dir, 'clickhouse');
const plan = sqlUserOf(newAccountId(1_790_000_000_000), 'default');
const other = newAccountId(1_790_000_000_001);
const secret = 'secretof2nd';
const { database } = plan;
let server: TestClickHouse;

beforeAll(async () => {
  mkdirSync(dataDir);
  const seed = { dataDir, connectionArgs: usersXml(dir, plan, 'operator'), plan, other, secret };
  await promisify(execFile)(process.execPath, [join(import.meta.dirname, 'support/seed.ts')], {
    env: { ...process.env, TEST_SEED: JSON.stringify(seed) },
  });
  const settings = { ...sqlUserSettings, max_execution_time: 4, max_memory_usage: 100_000_000 };
  server = await startClickHouse({ dataDir, connectionArgs: usersXml(dir, plan, 'analyst', settings) });
});
afterAll(async () => {
  await server?.stop();
  rmSync(dir, { recursive: true, force: true });
});

async function ask(sql: string): Promise<string> {
  const answer = await (await fetch(server.url, { method: 'POST', body: sql })).text();
  // Whatever was asked for: nothing of the other account is in any answer or error.
  expect([sql, answer.includes(secret) || (answer.includes(other) && !sql.includes(other))]).toEqual([sql, false]);
  return answer.trim();
}

test.each(publicTables.map(({ name }) => name))('%s has the rows of the account, and no others', async (name) => {
  const rows = await ask(`SELECT DISTINCT account_id FROM ${database}.${name} FORMAT TSV`);
  expect(rows).toBe(plan.account);
  expect(await ask(`SELECT count() FROM ${database}.${name} WHERE account_id = '${other}' FORMAT TSV`)).toBe('0');
});

const events = `${database}.sms_events`;

/** [what is tried, what may be answered]; every one of 200 own rows. */
const own: readonly (readonly [sql: string, answer: string])[] = [
  [`SELECT count() FROM ${events}`, '200'],
  [`SELECT count() FROM ${events} WHERE 1 OR account_id != ''`, '200'],
  [`SELECT * FROM (SELECT count() FROM ${events} SETTINGS additional_table_filters = {})`, '200'],
  [`SELECT * FROM (SELECT count() FROM ${events} SETTINGS readonly = 0)`, '200'],
  [
    `SELECT * FROM (SELECT count() FROM ${events} SETTINGS optimize_move_to_prewhere = 0, query_plan_filter_push_down = 0)`,
    '200',
  ],
  [`SELECT count() FROM merge('${database}', '^sms_events$')`, '200'],
  [`SELECT count() FROM merge(REGEXP('.*'), '^sms_events$')`, '200'],
  [`SELECT count() FROM view(SELECT * FROM ${events})`, '200'],
  [`SELECT count(), uniqExact(e.account_id) FROM numbers(2) AS n CROSS JOIN ${events} AS e`, '400\t1'],
  [`SELECT count() FROM ${events} AS a RIGHT JOIN ${events} AS b ON a.message_id = b.message_id`, '200'],
  [`SELECT count() FROM ${events} UNION ALL SELECT count() FROM ${events}`, '200\n200'],
  [`WITH e AS (SELECT * FROM ${events}) SELECT uniqExact(account_id) FROM e`, '1'],
  // An expression that would fail on a row of the other account never sees one.
  [`SELECT count() FROM ${events} WHERE intDiv(1, NOT startsWith(recipient, 'secret')) = 1`, '200'],
  [`SELECT sum(intDiv(1, NOT startsWith(message_id, 'secret'))) FROM ${events}`, '200'],
  [`SELECT count() FROM ${events} WHERE throwIf(startsWith(recipient, 'secret')) = 0`, '200'],
  [`SELECT sum(messages) FROM ${database}.message_counts`, '200'],
  ["SELECT count() FROM system.tables WHERE database = 'default'", '0'],
  ["SELECT count() FROM system.columns WHERE database = 'default'", '0'],
  ["SELECT count() FROM information_schema.tables WHERE table_schema = 'default'", '0'],
  ['SELECT count() FROM system.parts', '0'],
  ['SELECT count() FROM system.parts_columns', '0'],
  [`SELECT countIf(total_rows IS NOT NULL) FROM system.tables WHERE database = '${database}'`, '0'],
  ["SELECT countIf(name = 'default') FROM system.databases", '0'],
];
test.each(own)('%s', async (sql, answer) => {
  expect(await ask(`${sql} FORMAT TSV`)).toBe(answer);
});

const refused: readonly (readonly [what: string, sql: string])[] = [
  ['a table itself', 'SELECT * FROM default.sms_events'],
  ['a column of it', 'SELECT account_id FROM default.sms_events LIMIT 1'],
  ['a withheld column', `SELECT inbound FROM ${events}`],
  ['what carriers are asked by', 'SELECT * FROM default.sms_submits'],
  ['summaries of one-time passwords', 'SELECT count() FROM default.otp_summaries'],
  ['a table that feeds another', 'SELECT * FROM default.sms_submits_feed'],
  ['the tables over databases', "SELECT * FROM merge('default', '.*')"],
  ['an index', "SELECT * FROM mergeTreeIndex('default', 'sms_events')"],
  ['an index of a view', `SELECT * FROM mergeTreeIndex('${database}', 'sms_events')`],
  ['an analysis of an index', "SELECT * FROM mergeTreeAnalyzeIndexes('default', 'sms_events')"],
  ['a projection', "SELECT * FROM mergeTreeProjection('default', 'sms_events', 'x')"],
  ['PREWHERE', `SELECT count() FROM ${events} PREWHERE intDiv(1, 0)`],
  ['loop()', "SELECT * FROM loop('default', 'sms_events') LIMIT 1"],
  ['remote()', "SELECT * FROM remote('127.0.0.1', 'default', 'sms_events')"],
  ['remoteSecure()', "SELECT * FROM remoteSecure('127.0.0.1', 'default', 'sms_events')"],
  ['cluster()', "SELECT * FROM cluster('default', 'default', 'sms_events')"],
  ['clusterAllReplicas()', "SELECT * FROM clusterAllReplicas('default', 'default', 'sms_events')"],
  ['url()', "SELECT * FROM url('http://127.0.0.1:1/', 'CSV', 'a String')"],
  [
    'url() with readonly taken back',
    "SELECT * FROM (SELECT * FROM url('http://127.0.0.1:1/', 'CSV', 'a String') SETTINGS readonly = 0)",
  ],
  ['a table function for files', "SELECT * FROM file('/etc/hostname', 'LineAsString')"],
  [
    'the same with readonly taken back',
    "SELECT * FROM (SELECT * FROM file('/etc/hostname', 'LineAsString') SETTINGS readonly = 0)",
  ],
  ['a file by its name', 'SELECT * FROM default.`/etc/hostname`'],
  ['s3()', "SELECT * FROM s3('http://127.0.0.1:1/b/k', 'CSV', 'a String')"],
  ['postgresql()', "SELECT * FROM postgresql('127.0.0.1:1', 'a', 'b', 'c', 'd')"],
  ['mysql()', "SELECT * FROM mysql('127.0.0.1:1', 'a', 'b', 'c', 'd')"],
  ['sqlite()', "SELECT * FROM sqlite('/tmp/x', 't')"],
  ['executable()', "SELECT * FROM executable('x', 'TSV', 'a String')"],
  ['a dictionary', "SELECT * FROM dictionary('d')"],
  [
    'making a dictionary',
    `CREATE DICTIONARY ${database}.d (a String) PRIMARY KEY a SOURCE(CLICKHOUSE(TABLE 'sms_events')) LAYOUT(FLAT()) LIFETIME(1)`,
  ],
  ['the description of a table', 'SHOW CREATE TABLE default.sms_events'],
  ['policies', 'SELECT * FROM system.row_policies'],
  ['users', 'SELECT * FROM system.users'],
  ['quotas', 'SELECT * FROM system.quotas_usage'],
  ['profiles', 'SELECT * FROM system.settings_profiles'],
  ['a policy', 'SHOW CREATE ROW POLICY default ON default.sms_events'],
  ['checking a table', 'CHECK TABLE default.sms_events'],
  ['INSERT', `INSERT INTO default.sms_events (account_id) VALUES ('a')`],
  ['INSERT into a view', `INSERT INTO ${events} (account_id) VALUES ('a')`],
  ['INSERT … SELECT', `INSERT INTO default.message_counts SELECT * FROM ${database}.message_counts`],
  ['INSERT into a file', `INSERT INTO FUNCTION file('${dir}/out.csv', 'CSV') SELECT * FROM ${events}`],
  ['a view', `CREATE VIEW ${database}.v AS SELECT * FROM default.sms_events`],
  [
    'another definer',
    `CREATE VIEW ${database}.v DEFINER = ${plan.reader} SQL SECURITY DEFINER AS SELECT * FROM default.sms_events`,
  ],
  ['replacing a view', `CREATE OR REPLACE VIEW ${events} AS SELECT 1`],
  ['a temporary table', `CREATE TEMPORARY TABLE t AS SELECT * FROM ${events}`],
  ['a table', `CREATE TABLE ${database}.t ENGINE = Memory AS SELECT 1 AS a`],
  ['a function', 'CREATE FUNCTION f AS (x) -> x'],
  ['ALTER', 'ALTER TABLE default.sms_events DELETE WHERE 1'],
  ['DROP', `DROP VIEW ${events}`],
  ['TRUNCATE', 'TRUNCATE TABLE default.sms_events'],
  ['OPTIMIZE', 'OPTIMIZE TABLE default.sms_events'],
  ['RENAME', `RENAME TABLE ${events} TO ${database}.x`],
  ['BACKUP', `BACKUP TABLE default.sms_events TO File('${dir}/b')`],
  ['GRANT', 'GRANT SELECT ON *.* TO default'],
  ['another user', 'CREATE USER u'],
  ['taking a policy away', 'DROP ROW POLICY default ON default.sms_events'],
  ['being another user', `EXECUTE AS ${plan.reader} SELECT * FROM default.sms_events`],
  ['SYSTEM', 'SYSTEM DROP MARK CACHE'],
  ['readonly', 'SET readonly = 0'],
  ['another limit', 'SET max_memory_usage = 0'],
  ['another limit at the end', `SELECT 1 SETTINGS max_threads = 64`],
  ['another filter', `SELECT count() FROM ${events} SETTINGS additional_table_filters = {'default.sms_events': '1'}`],
];
test.each(refused)('is refused: %s', async (_what, sql) => {
  expect(await ask(sql)).toMatch(/DB::Exception/);
});

describe('explanations are of the account’s own reading:', () => {
  test.each(['EXPLAIN', 'EXPLAIN actions = 1', 'EXPLAIN PIPELINE', 'EXPLAIN QUERY TREE', 'EXPLAIN SYNTAX'])(
    '%s',
    async (explain) => {
      expect(await ask(`${explain} SELECT count() FROM ${events} WHERE recipient = 'x'`)).not.toMatch(/DB::Exception/);
    },
  );
  test('the policy narrows the index before anything is read', async () => {
    const lines = await ask(`EXPLAIN indexes = 1 SELECT count() FROM ${events} WHERE message_id = 'x'`);
    const plain = lines.replaceAll(/["\\]/g, '').replaceAll(/\s+/g, ' ');
    expect(plain).toContain(`Row level filter column: account_id = '${plan.account}'`);
    expect(plain).toContain('PrimaryKey Keys: account_id message_id');
  });
});

/** An inner SETTINGS of a subquery does not lift them. */
const heavy: readonly (readonly [what: string, sql: string, error: RegExp])[] = [
  ['time', 'SELECT count() FROM numbers(100000000000) WHERE NOT ignore(sipHash64(number))', /TIMEOUT_EXCEEDED/],
  [
    'time, taken back',
    'SELECT * FROM (SELECT count() FROM numbers(100000000000) WHERE NOT ignore(sipHash64(number)) SETTINGS max_execution_time = 0)',
    /TIMEOUT_EXCEEDED/,
  ],
  ['memory', 'SELECT length(groupArray(number)) FROM numbers(1000000000)', /MEMORY_LIMIT_EXCEEDED/],
  [
    'memory, taken back',
    'SELECT * FROM (SELECT length(groupArray(number)) FROM numbers(1000000000) SETTINGS max_memory_usage = 0)',
    /MEMORY_LIMIT_EXCEEDED/,
  ],
  ['rows', 'SELECT number FROM numbers(2000000)', /TOO_MANY_ROWS/],
  [
    'rows, taken back',
    'SELECT * FROM (SELECT number FROM numbers(2000000) SETTINGS max_result_rows = 0)',
    /TOO_MANY_ROWS/,
  ],
];
test.each(heavy)('has a bound: %s', async (_what, sql, error) => {
  expect(await ask(sql)).toMatch(error);
});

test('the checks of `sql-user create` find what this server still shows, and nothing else', async () => {
  // The embedded engine has no select_from_system_db_requires_grant, which servers have by default.
  expect(await leaksOf(server.url, plan, 'any')).toEqual(['errors of the server', 'stacks of threads']);
});
