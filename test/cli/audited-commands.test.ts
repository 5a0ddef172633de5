// Every command of `heliograph` is in this table: its audit record, or why it has none. Those that change something are
// run against a real PostgreSQL and a real nats-server, the first of each family as a process, and their record is
// checked: what was done, to what, by whom and from where. A new command fails here until it has a row.
import { mkdirSync, mkdtempSync, readFileSync, readdirSync, rmSync, writeFileSync } from 'node:fs';
import { hostname, tmpdir } from 'node:os';
import { join } from 'node:path';
import type { Command } from 'commander';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { openBucket } from '../../cluster/bus/ensure.ts';
import { program } from '../../cli/program.ts';
import { putBlock } from '../../cluster/bus/otp-guard-bucket.ts';
import { bringKeptNotes } from '../../control/audit-notes.ts';
import { type CommandsAudit, auditCommands } from '../../control/audit-commands.ts';
import { type AuditAction, auditActions } from '../../control/store/audit-actions.ts';
import { listAuditRecords } from '../../control/store/audit-log.ts';
import { createTemplate } from '../../control/store/templates.ts';
import { systemClock } from '../../platform/clock.ts';
import { secretBytes } from '../../platform/random.ts';
import { until } from '../support/until.ts';
import { type TestBus, startBus } from '../support/bus.ts';
import { runCliHere } from '../support/cli-here.ts';
import { runCli } from '../support/cli.ts';
import { type TestDatabase, startDatabase } from '../support/database.ts';
import { newAccount, newKey, newSender } from '../support/tenants.ts';

let database: TestDatabase;
let on: TestBus;
let audit: CommandsAudit;
const dataDir = mkdtempSync(join(tmpdir(), 'heliograph-audited-'));
const notRunning = mkdtempSync(join(tmpdir(), 'heliograph-audited-'));
beforeAll(async () => {
  [database, on] = await Promise.all([startDatabase(), startBus()]);
  audit = auditCommands(on.bus, database.store);
  for (const folder of [dataDir, notRunning]) {
    mkdirSync(join(folder, 'secrets'));
    writeFileSync(join(folder, 'secrets', 'body-key'), `${secretBytes(32).toString('base64')}\n`);
  }
});
afterAll(async () => {
  await audit?.close();
  await Promise.all([database?.stop(), on?.stop()]);
  for (const folder of [dataDir, notRunning]) rmSync(folder, { recursive: true, force: true });
});

type Changed = {
  readonly action: AuditAction;
  readonly words: (made: Made) => readonly string[];
  readonly target: string | ((made: Made) => string);
  readonly detail?: object;
};
type Made = { account: string; key: string; sender: string; template: string };
type Entry = 'reads' | Changed | { readonly action: AuditAction; readonly provenIn: string };
const fromTo = (from: unknown, to: unknown) => ({ from, to });

const table: Readonly<Record<string, Entry>> = {
  start: 'reads',
  doctor: 'reads',
  smsc: 'reads',
  'nats-permissions': 'reads',
  listen: 'reads',
  report: 'reads',
  'sql-user list': 'reads',
  'sql-user create': { action: 'sql_user.created', provenIn: 'test/cli/sql-user.test.ts' },
  'sql-user rotate': { action: 'sql_user.rotated', provenIn: 'test/cli/sql-user.test.ts' },
  'sql-user drop': { action: 'sql_user.dropped', provenIn: 'test/cli/sql-user.test.ts' },
  flight: 'reads',
  phone: 'reads',
  'otp unlock': { action: 'otp.unlocked', provenIn: 'test/cli/otp-unlock.test.ts' },
  'otp-guard blocks': 'reads',
  'otp-guard release': {
    action: 'otp_guard.released',
    words: ({ account }) => ['+880171234', '--account', account],
    target: ({ account }) => `${account} \\+880171234`,
    detail: { rule: 'sequence' },
  },
  'otp-guard safe-list': {
    action: 'otp_guard.changed',
    words: ({ account }) => ['--account', account, '--add', '+8801712345678'],
    target: (m) => m.account,
    detail: { safe_list: { from: 0, to: 1, added: ['+880171234****'], removed: [], more: 0 } },
  },
  audit: 'reads',
  'audit verify': 'reads',
  'audit partitions': 'reads',
  'audit detach': { action: 'audit.detached', provenIn: 'test/control/store/audit-chain.test.ts' },
  erase: { action: 'number.erased', provenIn: 'test/control/erasure.test.ts' },
  'accounts list': 'reads',
  'accounts create': {
    action: 'account.created',
    words: () => ['--name', 'New'],
    target: /^acc_/.source,
  },
  'accounts suspend': { action: 'account.suspended', words: ({ account }) => [account], target: (m) => m.account },
  'accounts activate': { action: 'account.activated', words: ({ account }) => [account], target: (m) => m.account },
  'accounts limit': {
    action: 'account.changed',
    words: ({ account }) => [account, '--per-second', '7'],
    target: (m) => m.account,
    detail: { rate: fromTo(null, { perSecond: 7, burst: 7 }) },
  },
  'accounts networks': {
    action: 'account.changed',
    words: ({ account }) => [account, '--allow', '192.0.2.0/24'],
    target: (m) => m.account,
    detail: { ipAllowlist: fromTo([], ['192.0.2.0/24']) },
  },
  'accounts resend': {
    action: 'account.changed',
    words: ({ account }) => [account, '--categories', 'otp'],
    target: (m) => m.account,
    detail: { resendUnknown: fromTo([], ['otp']) },
  },
  'accounts inbound': {
    action: 'account.changed',
    words: ({ account }) => [account, '--keep-text', 'yes'],
    target: (m) => m.account,
    detail: { keepInboundText: fromTo(false, true) },
  },
  'keys list': 'reads',
  'keys demo': 'reads',
  'keys create': {
    action: 'api_key.created',
    words: ({ account }) => ['--account', account, '--scopes', 'sms:send'],
    target: /^key_/.source,
    detail: { livemode: true, scopes: ['sms:send'] },
  },
  'keys revoke': { action: 'api_key.revoked', words: ({ key }) => [key], target: (m) => m.key },
  'keys rotate-body': {
    action: 'body_key.rotated',
    words: () => [],
    target: 'body-key',
    detail: { sealing: fromTo(expect.stringMatching(/./), expect.stringMatching(/./)), gone: [] },
  },
  'senders list': 'reads',
  'senders approve': { action: 'sender.approved', words: ({ sender }) => [sender], target: (m) => m.sender },
  'senders reject': { action: 'sender.rejected', words: ({ sender }) => [sender], target: (m) => m.sender },
  'templates list': 'reads',
  'templates approve': { action: 'template.approved', words: ({ template }) => [template], target: (m) => m.template },
  'templates reject': { action: 'template.rejected', words: ({ template }) => [template], target: (m) => m.template },
  'carriers list': 'reads',
  'carriers pause': { action: 'carrier.paused', words: () => ['meghna', '--reason', 'why'], target: 'meghna' },
  'carriers drain': { action: 'carrier.drained', words: () => ['meghna'], target: 'meghna' },
  'carriers resume': { action: 'carrier.resumed', words: () => ['meghna'], target: 'meghna' },
  'dead list': 'reads',
  'dead show': 'reads',
  'dead replay': { action: 'dead_record.replayed', provenIn: 'test/system/dead.test.ts' },
  'dead drop': { action: 'dead_record.dropped', words: () => ['1', '--yes'], target: 'DEAD/1' },
  'directory owner': 'reads',
  'directory release': {
    action: 'directory.released',
    words: () => ['--yes'],
    target: 'directory',
    detail: { database: 'db_1', host: 'there' },
  },
  'dnd check': 'reads',
  'dnd status': 'reads',
  'dnd import': {
    action: 'registry.imported',
    words: () => [join(dataDir, 'dnd.csv'), '--allow-shrink'],
    target: 'dnd',
    detail: { numbers: fromTo(0, 2), allow_shrink: true, changed: true },
  },
  'ported check': 'reads',
  'ported status': 'reads',
  'ported import': {
    action: 'registry.imported',
    words: () => [join(dataDir, 'ported.csv')],
    target: 'ported',
    detail: { numbers: fromTo(0, 1), allow_shrink: false },
  },
};

/** Every executable command, with the names of its parents. */
function commandsOf(of: Command, above: string[] = []): string[] {
  return of.commands.flatMap((each) => {
    const names = [...above, each.name()];
    const isRunnable = (each as unknown as { _actionHandler: unknown })._actionHandler != null;
    return [...(isRunnable ? [names.join(' ')] : []), ...commandsOf(each, names)];
  });
}

test('every command is in the table, and nothing else is', () => {
  expect(Object.keys(table).sort()).toEqual(commandsOf(program).sort());
});

test('every test named as proof exists', () => {
  for (const entry of Object.values(table)) {
    if (typeof entry === 'string' || !('provenIn' in entry)) continue;
    const source = readFileSync(join(import.meta.dirname, '../..', entry.provenIn), 'utf8');
    expect([entry.provenIn, source.includes(entry.action.split('.').at(-1) ?? '')]).toEqual([entry.provenIn, true]);
  }
  for (const entry of Object.values(table)) if (entry !== 'reads') expect(auditActions).toContain(entry.action);
});

const cli = (words: readonly string[], folder = dataDir, natsUrl: string | undefined = on.nats.url, run = runCliHere) =>
  run(words, {
    NATS_URL: natsUrl,
    DATABASE_URL: database.postgres.applicationUrl,
    HELIOGRAPH_DATA: folder,
    HELIOGRAPH_BODY_KEY: undefined,
  });
const recordsOf = async (action: AuditAction) =>
  (await listAuditRecords(database.store, { limit: 20, after: null, action })).items;

async function made(): Promise<Made> {
  const account = await newAccount(database.store);
  // As the control role does, which does not run here.
  await (await openBucket(on.bus, 'directory')).put(`account.${account}`, '{"v":1}');
  const template = await createTemplate(database.store, {
    accountId: account,
    name: 'one',
    category: 'transactional',
    body: 'Hello',
    variables: [],
    status: 'pending',
  });
  if (!template.ok) throw new Error(template.code);
  const [key, sender] = [await newKey(database.store, account), await newSender(database.store, account, 'SHOP')];
  return { account, key: key.id, sender, template: template.template.id };
}

async function blockNumbers(accountId: string): Promise<void> {
  const fromMs = systemClock.nowMs();
  await putBlock(on.bus, await openBucket(on.bus, 'otp_guard'), {
    ...{ accountId, prefix: '+880171234', rule: 'sequence', statistic: 10, threshold: 10, times: 1, shadow: false },
    ...{ fromMs, untilMs: fromMs + 600_000, released: null, note: '' },
  });
}

describe('leaves a record of who, from where and what:', () => {
  beforeAll(async () => {
    writeFileSync(join(dataDir, 'dnd.csv'), '8801712345678,all\n8801712345679,all\n');
    writeFileSync(join(dataDir, 'ported.csv'), '8801712345678,padma\n');
    await on.bus.jetstream.publish('dead.LATER', 'poison');
    const directory = await openBucket(on.bus, 'directory');
    await directory.put('meta.database', JSON.stringify({ v: 1, database: 'db_1', sinceMs: 1, host: 'there' }));
  });

  const changing = Object.entries(table).flatMap(([name, entry]) =>
    entry === 'reads' || 'provenIn' in entry ? [] : [[name, entry] as const],
  );
  const familyOf = (name: string) => name.split(' ')[0];
  const firstOfEach = new Set(
    changing.map(([name]) => changing.find(([other]) => familyOf(other) === familyOf(name))?.[0]),
  );
  test.each(changing)('%s', async (name, { action, words, target, detail = {} }) => {
    const given = await made();
    if (name === 'otp-guard release') await blockNumbers(given.account);
    if (name === 'accounts activate') await cli(['accounts', 'suspend', given.account]);
    const before = new Set((await recordsOf(action)).map(({ row }) => row));
    const run = firstOfEach.has(name) ? runCli : runCliHere;
    const { code, stderr } = await cli([...name.split(' '), ...words(given)], undefined, undefined, run);
    expect([name, code, stderr.split('\n').filter((line) => !line.includes('%'))[0] ?? '']).toEqual([
      name,
      0,
      expect.anything(),
    ]);
    const isNew = ({ row }: { row: number }) => !before.has(row);
    const wanted = typeof target === 'string' ? new RegExp(`${target}$|${target}`) : new RegExp(`^${target(given)}$`);
    const found = await until('its record', async () =>
      (await recordsOf(action)).filter(isNew).find((record) => wanted.test(record.target)),
    );
    expect(found).toMatchObject({ action, actor: 'operator', origin: expect.stringMatching(/^.+@.+$/), detail });
    expect(found.origin.endsWith(`@${hostname()}`)).toBe(true);
  });
});

test('a body key that is changed while nothing runs is in the audit log after the next start', async () => {
  const nobody = 'nats://127.0.0.1:1';
  const before = (await recordsOf('body_key.rotated')).length;
  expect((await cli(['keys', 'rotate-body'], notRunning, nobody)).code).toBe(0);
  expect(readdirSync(join(notRunning, 'audit-notes'))).toHaveLength(1);
  expect(await recordsOf('body_key.rotated')).toHaveLength(before);
  // What the control role does when it starts; twice, as after a crash between the two.
  const [kept = ''] = readdirSync(join(notRunning, 'audit-notes'));
  const text = readFileSync(join(notRunning, 'audit-notes', kept), 'utf8');
  await bringKeptNotes(on.bus, notRunning);
  writeFileSync(join(notRunning, 'audit-notes', kept), text);
  await bringKeptNotes(on.bus, notRunning);
  expect(readdirSync(join(notRunning, 'audit-notes'))).toEqual([]);
  await until('its record', async () => (await recordsOf('body_key.rotated')).length === before + 1);
});
