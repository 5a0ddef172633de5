// SQL of the operator on the embedded engine, over HTTP: what is read, what is refused and how, every bound; and the store goes
// on recording and answering meanwhile.
import { mkdtempSync, readdirSync, rmSync } from 'node:fs';
import { request } from 'node:http';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import fc from 'fast-check';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { type OperatorReader, openOperatorReader } from '../../../analytics/sql/operator-reader.ts';
import { notReadOnly } from '../../../analytics/sql/select-only.ts';
import { type Engine, openEngine } from '../../../analytics/store/engine.ts';
import { applySchema } from '../../../analytics/store/schema.ts';
import { startSqlEndpoint } from '../../../api/sql/endpoint.ts';
import { limits } from '../../../platform/limits.ts';

const dir = mkdtempSync(join(tmpdir(), 'heliograph-operator-sql-'));
const token = 't'.repeat(40);
let engine: Engine;
let reader: OperatorReader;
let endpoint: Awaited<ReturnType<typeof startSqlEndpoint>>;

beforeAll(async () => {
  const dataDir = join(dir, 'clickhouse');
  engine = openEngine({ clickhouseUrl: null, dataDir });
  await applySchema(engine);
  await engine.insert(
    'message_counts (account_id, slot, messages)',
    Buffer.from('acc_1\t2026-01-01 00:00:00\t3\nacc_2\t2026-01-01 00:00:00\t4\n'),
  );
  reader = openOperatorReader(dataDir);
  endpoint = await startSqlEndpoint({ port: 0, token, reader });
});
afterAll(async () => {
  await endpoint?.close();
  await reader?.close();
  await engine?.close();
  rmSync(dir, { recursive: true, force: true });
});

const post = (sql: string, query = '', headers: Record<string, string> = {}) =>
  fetch(`http://127.0.0.1:${endpoint.port}/sql${query}`, {
    method: 'POST',
    body: sql,
    headers: { authorization: `Bearer ${token}`, ...headers },
  });
async function refusal(response: Response): Promise<[number, string]> {
  expect(response.headers.get('content-type')).toBe('application/problem+json');
  const { code, request_id: id } = (await response.json()) as { code: string; request_id: string };
  expect(id).toBe(response.headers.get('x-request-id'));
  return [response.status, code];
}

test('a SELECT is answered in every format, over all accounts', async () => {
  const sql = 'select account_id, sum(messages) AS n from message_counts -- a comment\n group by 1 order by 1;';
  expect(await (await post(sql)).json()).toEqual([
    { account_id: 'acc_1', n: 3 },
    { account_id: 'acc_2', n: 4 },
  ]);
  expect(await (await post(sql, '?format=csv')).text()).toBe('"account_id","n"\n"acc_1",3\n"acc_2",4\n');
  const parquet = Buffer.from(await (await post(sql, '?format=parquet')).arrayBuffer()).toString('latin1');
  expect(parquet).toMatch(/^PAR1.*PAR1$/s);
});

test.each([
  'WITH a AS (SELECT 1 AS x) SELECT x FROM a',
  'SELECT count() FROM default.sms_events AS e INNER JOIN message_counts AS m ON e.account_id = m.account_id',
  "SELECT name, type FROM system.columns WHERE table = 'sms_events'",
  'SELECT number FROM numbers(3) UNION ALL SELECT 1',
  "SELECT 'SETTINGS; INTO OUTFILE x', `messages` FROM message_counts",
  'SELECT (SELECT max(messages) FROM message_counts) AS m, arrayMap(x -> x + 1, [1, 2])',
])('is read: %s', async (sql) => {
  expect((await post(sql)).status).toBe(200);
});

describe('is refused:', () => {
  const refused = [
    'INSERT INTO message_counts (account_id) VALUES (1)',
    'DROP TABLE sms_events',
    'ALTER TABLE sms_events DELETE WHERE 1',
    'SET readonly = 0',
    'SYSTEM FLUSH LOGS',
    'USE system',
    'SHOW TABLES',
    'KILL QUERY WHERE 1',
    'EXPLAIN SELECT 1',
    'CREATE TEMPORARY TABLE t (a UInt8)',
    'SELECT 1; SELECT 2',
    'SELECT 1; DROP TABLE sms_events',
    'SELECT 1) ; DROP TABLE sms_events; SELECT (1',
    "SELECT 1') ; DROP TABLE sms_events -- ",
    "SELECT 1 INTO OUTFILE '/tmp/heliograph-leak'",
    'SELECT 1 FORMAT Null',
    'SELECT 1 SETTINGS max_threads = 64',
    'SELECT * FROM (SELECT 1 SETTINGS readonly = 0)',
    "SELECT * FROM file('/etc/hostname', 'LineAsString')",
    "SELECT * FROM (SELECT * FROM file('/etc/hostname', 'LineAsString') SETTINGS readonly = 0)",
    "SELECT file('/etc/hostname')",
    "SELECT FILE('/etc/hostname')",
    "WITH f AS (SELECT file('/etc/hostname') AS x) SELECT x FROM f",
    "SELECT 1 WHERE 'a' IN (SELECT file('/etc/hostname'))",
    "SELECT 1 WHERE 'a' IN file('/etc/hostname', 'LineAsString')",
    'SELECT * FROM `/etc/hostname`',
    "SELECT * FROM '/etc/hostname'",
    'SELECT * FROM default.`/etc/hostname`',
    'SELECT * FROM `LICENSE`',
    "SELECT * FROM url('http://127.0.0.1:1/', 'CSV', 'a String')",
    "SELECT * FROM remote('127.0.0.1', 'default', 'sms_events')",
    "SELECT * FROM s3('http://127.0.0.1:1/b/k', 'CSV', 'a String')",
    "SELECT * FROM executable('x', 'TSV', 'a String')",
    "SELECT * FROM merge('default', '.*')",
    "SELECT * FROM mergeTreeIndex('default', 'sms_events')",
    "SELECT * FROM sqlite('/tmp/x', 't')",
    "SELECT dictGet('d', 'a', 1)",
    'SELECT addressToLine(1)',
    'SELECT sleep(1)',
    'SELECT {a:String}',
    'SELECTT 1',
    'SELECT nothing FROM nowhere',
    '\0',
  ];
  test.each(refused)('%s', async (sql) => {
    expect(await refusal(await post(sql))).toEqual([422, 'sql_refused']);
  });
  test('nothing of it had an effect', async () => {
    expect(await engine.rows('SELECT toInt32(sum(messages)) FROM message_counts')).toEqual([[7]]);
    expect(await engine.rows("SELECT getSetting('readonly')")).toEqual([[0]]);
    expect(readdirSync(tmpdir())).not.toContain('heliograph-leak');
  });
});

test('requests of others and of another shape are refused with their code', async () => {
  expect(await refusal(await post('SELECT 1', '', { authorization: '' }))).toEqual([401, 'missing_api_key']);
  expect(await refusal(await post('SELECT 1', '', { authorization: `Bearer ${token}x` }))).toEqual([
    401,
    'invalid_api_key',
  ]);
  expect(await refusal(await post('SELECT 1', '?format=xml'))).toEqual([422, 'invalid_field']);
  expect(await refusal(await post('SELECT 1', '?database=system'))).toEqual([422, 'unknown_field']);
  expect(await refusal(await post('  '))).toEqual([422, 'invalid_field']);
  const long = `SELECT '${'x'.repeat(limits.operatorSql.statementOctetsMax)}'`;
  expect(await refusal(await post(long))).toEqual([413, 'body_too_large']);
  const get = await fetch(`http://127.0.0.1:${endpoint.port}/sql`, { headers: { authorization: `Bearer ${token}` } });
  expect(await refusal(get)).toEqual([405, 'method_not_allowed']);
  // A page in a browser of this machine, under a name of its own that leads here.
  const status = await new Promise((resolve, reject) => {
    const headers = { host: 'evil.example', authorization: `Bearer ${token}` };
    request({ port: endpoint.port, path: '/sql', method: 'POST', headers }, (response) => {
      response.resume();
      resolve(response.statusCode);
    })
      .once('error', reject)
      .end('SELECT 1');
  });
  expect(status).toBe(404);
});

test('what needs too much ends with a code, and the next answer has nothing of it', async () => {
  const rows = `SELECT number FROM numbers(${limits.operatorSql.rowsMax * 3})`;
  for (const format of ['csv', 'json', 'parquet']) {
    expect(await refusal(await post(rows, `?format=${format}`))).toEqual([422, 'sql_too_large']);
    expect(await (await post('SELECT 1 AS n', '?format=csv')).text()).toBe('"n"\n1\n');
  }
  expect(await refusal(await post('SELECT length(groupArray(number)) FROM numbers(1000000000)'))).toEqual([
    422,
    'sql_too_large',
  ]);
});

test('statements wait in a row of bounded length; meanwhile the store records and answers', async () => {
  const heavy = 'SELECT count() FROM numbers(100000000000) WHERE NOT ignore(sipHash64(number))';
  let isSlow = true;
  const slow = post(heavy).then(refusal);
  const ended = slow.finally(() => (isSlow = false));
  for (let n = 0; n < 20; n += 1) {
    await engine.insert('message_counts (account_id, slot, messages)', Buffer.from('acc_3\t2026-01-01 00:00:00\t1\n'));
    expect(await engine.rows('SELECT {n:UInt8}', { n })).toEqual([[n]]);
  }
  expect(isSlow).toBe(true);
  const waiting = await Promise.all(Array.from({ length: limits.operatorSql.waitingMax }, () => post('SELECT 1')));
  expect(waiting.map(({ status }) => status).toSorted((a, b) => a - b)).toEqual([200, 200, 503]);
  expect(await ended).toEqual([503, 'sql_too_slow']);
});

test('a tree that is no SELECT is judged without an engine', () => {
  expect(notReadOnly([])).toBe('must be one SELECT');
  expect(notReadOnly(['InsertQuery (children 1)'])).toBe('must be one SELECT');
  // Wherever something else is put into a sound tree.
  const sound = [
    'SelectWithUnionQuery (children 1)',
    ' ExpressionList (children 1)',
    '  Literal UInt64_1',
    '  Identifier a',
  ];
  expect(notReadOnly(sound)).toBeNull();
  const forbidden = [
    'Set',
    'Function file (children 1)',
    'Function urlCluster (alias x) (children 1)',
    'TableIdentifier /etc/x',
    'TableIdentifier a.b.c',
  ];
  fc.assert(
    fc.property(
      fc.constantFrom(...forbidden),
      fc.integer({ min: 1, max: sound.length }),
      fc.nat(9),
      (line, at, depth) => {
        expect(notReadOnly(sound.toSpliced(at, 0, `${' '.repeat(depth)}${line}`))).not.toBeNull();
      },
    ),
  );
});
