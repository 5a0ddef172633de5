// The command line: help, error texts, and the operator's commands against a running control plane.
import { mkdtempSync, readFileSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, afterEach, describe, expect, it, vi } from 'vitest';
import { commands } from '../../cli/commands.ts';
import { runCliHere } from '../support/cli-here.ts';
import { runCli } from '../support/cli.ts';
import { endSystems, startSystem } from '../support/system.ts';

const emptyFolder = mkdtempSync(join(tmpdir(), 'heliograph-cli-'));
// Every step is a process, and one test starts a whole system: half a minute and more on a busy machine.
vi.setConfig({ testTimeout: 120_000 });
afterEach(endSystems);
afterAll(() => rmSync(emptyFolder, { recursive: true, force: true }));

const cli = (words: readonly string[], env: Record<string, string | undefined> = {}) =>
  runCli(words, { HELIOGRAPH_DATA: emptyFolder, ...env });
const here = (words: readonly string[]) => runCliHere(words, { HELIOGRAPH_DATA: emptyFolder });

describe('as a process', () => {
  it.each([
    [[], 'start'],
    [['carriers', 'pause'], '--bind'],
    [['smsc'], '--tps'],
  ])('%j has its help', async (command, word) => {
    const { code, stdout, stderr } = await cli([...command, '--help']);
    expect({ code, stderr }).toEqual({ code: 0, stderr: '' });
    expect(stdout).toContain(word);
  });

  it.each([
    [['keys', 'create'], "required option '--account <id>'"],
    [['accounts', 'create', '--name', 'x'], 'Heliograph does not run on'],
    [['dead', 'list', '--stream', 'ORDERS'], '--stream: found "ORDERS", expected one of MT_OTP, MT_TXN'],
    [['cook'], "unknown command 'cook'"],
  ])('%j reports its error in one sentence, and exits with 1', async (command, sentence) => {
    const { code, stdout, stderr } = await cli(command);
    expect({ code, stdout }).toEqual({ code: 1, stdout: '' });
    expect(stderr).toContain(sentence);
    expect(stderr).not.toContain('    at ');
    expect(await here(command)).toEqual({ code, stdout, stderr });
  });
});

describe('every command has its help', () => {
  it.each([
    [['start'], '--roles'],
    [['doctor'], '--carrier'],
    [['carriers'], 'drain'],
    [['audit'], '--target'],
    [['directory'], 'release'],
    [['accounts'], 'create'],
    [['accounts', 'create'], '--name'],
    [['keys'], 'revoke'],
    [['keys', 'create'], '--account'],
    [['keys', 'revoke'], '<id>'],
    [['keys', 'demo'], '--test'],
    [['keys', 'rotate-body'], '--json'],
    [['flight'], '--pcap'],
    [['phone'], '--carrier'],
    [['dead'], 'replay'],
    [['dead', 'replay'], '--all'],
  ])('%j', async (command, word) => {
    const { code, stdout } = await here([...command, '--help']);
    expect(code).toBe(0);
    expect(stdout).toContain(word);
  });
});

it('README lists every command for operators', () => {
  const readme = readFileSync(new URL('../../README.md', import.meta.url), 'utf8');
  const [, listed = ''] = /^\| look after it \| (.*) \|$/m.exec(readme) ?? [];
  const known = new Set([...listed.matchAll(/`(?:npx heliograph )?([a-z-]+)/g)].map(([, word]) => word));
  const words = new Set(Object.keys(commands).map((each) => each.split(' ')[0]));
  expect([...words].filter((word) => word !== 'start' && !known.has(word))).toEqual([]);
});

const testListen = ['listen', '--key', `hk_test_${'a'.repeat(12)}_${'b'.repeat(32)}`];

describe('an error is reported in one sentence', () => {
  it.each([
    [['keys', 'create', '--account', 'bob'], '--account: found "bob", expected an account id (acc_…)'],
    [
      ['keys', 'create', '--account', 'acc_01ARZ3NDEKTSV4RRFFQ69G5FAV', '--scopes', 'sms:send,cook'],
      '--scopes: found "cook"',
    ],
    [['keys', 'revoke', 'key_x'], 'Heliograph does not run on'],
    [['keys', 'demo'], 'There is no demo account on this machine'],
    [['dnd', 'import', 'file.csv'], 'Heliograph does not run on'],
    [['carriers', 'list'], 'Heliograph does not run on'],
    [
      ['carriers', 'pause', 'alpha', '--bind', '0'],
      '--bind: found "0", expected a number from 1, such as 2 or alpha/2',
    ],
    [['carriers', 'drain', 'alpha', '--reason', 'x'.repeat(201)], '--reason: found 201 characters'],
    [['audit', '--limit', '0'], '--limit: found "0", expected a whole number from 1 to 1000'],
    [['audit', 'verify', '--expect', '812:9f2c'], 'with all 64 digits of the hash'],
    [['audit'], 'Heliograph does not run on'],
    [['directory', 'owner'], 'Heliograph does not run on'],
    [['directory', 'release'], 'then: heliograph directory release --yes'],
    [['listen', '--key', 'hk_test_bogus'], '--key: this is not a whole API key (13 characters): expected hk_test_, 12'],
    [
      ['listen', '--key', `hk_live_${'a'.repeat(12)}_${'b'.repeat(32)}`],
      '--key: this is a live key; expected a test key',
    ],
    [
      [...testListen, '--events', 'webhook.failing'],
      '--events: webhook.failing is no event of test messages, expected',
    ],
    [[...testListen, '--events', 'sms.delivered, otp.blocked'], '--events: otp.blocked is no event of test messages'],
    [[...testListen, '--api', 'foo'], '--api: found "foo", expected the address of an API without a path'],
    [[...testListen, '--api', 'https://host.example/prefix'], '--api: found "https://host.example/prefix", expected'],
    [['dnd', 'import', 'file.csv', '--bad-rows-max', 'few'], '--bad-rows-max: found "few"'],
    [['ported', 'import'], "missing required argument 'file'"],
    [['flight'], "missing required argument 'carrier'"],
    [['flight', 'alpha'], 'Heliograph does not run on'],
    [['phone'], 'Heliograph does not run on'],
    [['phone', 'bob'], 'found "bob", expected a number such as +8801712345678'],
    [['phone', '--limit', '0'], '--limit: found "0", expected a whole number from 1 to 1000'],
    [['flight', 'alpha', '--pcap'], "option '--pcap <file>' argument missing"],
    [['dead', 'list'], 'Heliograph does not run on'],
    [['dead', 'list', '--limit', '10001'], '--limit: found "10001", expected a whole number from 1 to 10000'],
    [['dead', 'show', 'five'], 'found "five", expected the number of a record'],
    [['dead', 'replay'], 'expected record numbers, or --all'],
    [['dead', 'replay', '5', '--all'], 'expected record numbers, or --all'],
    [['dead', 'replay', '5', '--stream', 'MT_TXN'], '--stream goes with --all'],
    [['dead', 'drop', '5'], 'dead drop deletes record 5 for good: confirm with --yes'],
  ])('%j', async (command, sentence) => {
    const { code, stderr } = await here(command);
    expect(code).toBe(1);
    expect(stderr).toContain(sentence);
    expect(stderr).not.toContain('    at ');
  });
});

describe('doctor', () => {
  it('finds nothing wrong on a correctly configured machine', async () => {
    const { code, stdout } = await cli(['doctor', '--json'], { HELIOGRAPH_HTTP_PORT: '0', HELIOGRAPH_ADMIN_PORT: '0' });
    const { ok, checks } = JSON.parse(stdout) as { ok: boolean; checks: { check: string; ok: boolean }[] };
    expect(checks.filter((check) => !check.ok)).toEqual([]);
    expect({ ok, code }).toEqual({ ok: true, code: 0 });
    expect(checks.map((check) => check.check)).toEqual(
      expect.arrayContaining(['runtime', 'settings', 'configuration', 'system', 'NATS', 'PostgreSQL', 'ClickHouse']),
    );
  });

  it('advises on each problem, without passwords', async () => {
    const { code, stdout } = await cli(['doctor'], {
      NATS_URL: 'nats://u:hunter2@127.0.0.1:1',
      DATABASE_URL: 'postgres://u:hunter2@127.0.0.1:1/x',
      CLICKHOUSE_URL: 'http://127.0.0.1:1',
      HELIOGRAPH_CONFIG: '/nowhere/heliograph.yaml',
    });
    expect(code).toBe(1);
    for (const line of ['✗ configuration', '✗ NATS', '✗ PostgreSQL', '✗ ClickHouse', '✓ runtime'])
      expect(stdout).toContain(line);
    expect(stdout).not.toContain('hunter2');
  });
});

describe('doctor on wrong settings', () => {
  it('reports in a sentence that a log level, a body key or a name is wrong', async () => {
    const level = await cli(['doctor'], { HELIOGRAPH_LOG: 'bla' });
    expect(level).toMatchObject({ code: 1, stderr: '' });
    expect(level.stdout).toContain('✗ settings       HELIOGRAPH_LOG: found "bla", expected one of fatal, error');
    const { code, stdout } = await cli(['doctor'], { HELIOGRAPH_BODY_KEY: 'abc', HELIOGRAPH_HTP_PORT: '9' });
    expect(code).toBe(1);
    expect(stdout).toContain('✗ body key       HELIOGRAPH_BODY_KEY: found 2 bytes, expected 32 bytes in base64');
    expect(stdout).toContain('! variable       HELIOGRAPH_HTP_PORT is set, and there is no such setting: did you mean');
  });
});

describe('with the control plane running', () => {
  it('creates an account and keys, revokes one, and the doctor reports it all', async () => {
    const system = await startSystem({ env: { HELIOGRAPH_ROLES: 'control' }, realRoles: true });
    await system.ready();
    const run = async (...command: string[]) => {
      const { code, stdout, stderr } = await cli([...command, '--json'], system.env);
      expect({ code, stderr }).toEqual({ code: 0, stderr: '' });
      return JSON.parse(stdout) as Record<string, unknown>;
    };
    const account = await run('accounts', 'create', '--name', 'Post Office');
    expect(account).toMatchObject({ object: 'account', name: 'Post Office', status: 'active' });
    const live = await run('keys', 'create', '--account', String(account['id']));
    expect(live).toMatchObject({ livemode: true, key: expect.stringMatching(/^hk_live_/) });
    const test = await run('keys', 'create', '--account', String(account['id']), '--test', '--scopes', 'sms:send');
    expect(test).toMatchObject({ livemode: false, scopes: ['sms:send'], key: expect.stringMatching(/^hk_test_/) });
    expect(await run('keys', 'revoke', String(live['id']))).toMatchObject({
      id: live['id'],
      revoked_at: expect.any(String),
    });
    expect(await run('doctor')).toMatchObject({ ok: true });

    const nobody = await cli(['keys', 'create', '--account', 'acc_01ARZ3NDEKTSV4RRFFQ69G5FAV'], system.env);
    expect(nobody.stderr).toContain('account_not_found');
    system.process.kill('SIGTERM');
    expect(await system.exit()).toBe(0);
  });
});
