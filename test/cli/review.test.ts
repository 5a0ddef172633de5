// The operator's commands about tenants against a real database that other programs filled; one of each family runs as a
// process, the others within this one.
import { afterAll, beforeAll, expect, test } from 'vitest';
import { findAccount } from '../../control/store/accounts.ts';
import { changeAccountSettings, readAccountSettings } from '../../control/store/account-settings.ts';
import { listSenders } from '../../control/store/senders.ts';
import type { Store } from '../../control/store/store.ts';
import { createTemplate, findTemplate } from '../../control/store/templates.ts';
import { type AccountId, newAccountId } from '../../model/ids.ts';
import { runCliHere } from '../support/cli-here.ts';
import { type CliResult, runCli } from '../support/cli.ts';
import { type TestDatabase, startDatabase } from '../support/database.ts';
import { newAccount, newSender } from '../support/tenants.ts';

let database: TestDatabase;
let store: Store;
let accountId: AccountId;

beforeAll(async () => {
  database = await startDatabase();
  ({ store } = database);
  accountId = await newAccount(store, 'Post Office');
});
afterAll(() => database?.stop());

const asProcess = (...words: string[]) => runCli(words, { DATABASE_URL: database.postgres.applicationUrl });
const cli = (...words: string[]) => runCliHere(words, { DATABASE_URL: database.postgres.applicationUrl });
const json = async (...args: string[]) => parsed(await cli(...args, '--json'));
const parsed = ({ code, stdout, stderr }: CliResult) => {
  expect({ code, stderr }).toEqual({ code: 0, stderr: '' });
  return JSON.parse(stdout);
};

test('senders are listed, approved for some categories, and rejected', async () => {
  const id = await newSender(store, accountId, 'POST');
  const rival = await newAccount(store, 'Rival');
  await newSender(store, rival, 'P0ST', 'approved');
  expect(parsed(await asProcess('senders', 'list', '--json')).data).toMatchObject([
    {
      id,
      account: accountId,
      name: 'POST',
      status: 'pending',
      like: [{ account: rival, name: 'P0ST', status: 'approved' }],
    },
  ]);
  expect(await json('senders', 'approve', id, '--categories', 'otp, transactional')).toMatchObject({
    status: 'approved',
  });
  const stored = async () => (await listSenders(store, accountId, { limit: 1, after: null })).items[0];
  expect(await stored()).toMatchObject({ status: 'approved', categories: ['otp', 'transactional'] });
  expect(await json('senders', 'reject', id)).toMatchObject({ status: 'rejected' });
  expect((await cli('senders', 'approve', id, '--categories', 'spam')).stderr).toContain('found "spam"');
  expect((await cli('senders', 'approve', 'snd_nobody')).stderr).toContain('sender_not_found');
});

test('templates are listed, approved and rejected with a note to the account', async () => {
  const made = await createTemplate(store, {
    accountId,
    name: 'hi',
    category: 'otp',
    // As an older version accepted it: the output must not depend on what is accepted now.
    body: 'Hi \u001b[2K\rtpl_1  \u202eforged\nline',
    variables: [],
    status: 'pending',
  });
  if (!made.ok) throw new Error(made.code);
  const { id } = made.template;
  expect((await asProcess('templates', 'list', '--account', accountId)).stdout).toBe(
    `${id}  ${accountId}  "hi"  otp: "Hi \\u001b[2K\\rtpl_1  \\u202eforged\\nline"\n`,
  );
  expect(await json('templates', 'approve', id)).toMatchObject({ id, object: 'template', status: 'approved' });
  await json('templates', 'reject', id, '--note', 'too short');
  expect(await findTemplate(store, id, accountId)).toMatchObject({ status: 'rejected', note: 'too short' });
  expect((await cli('templates', 'list', '--status', 'lost')).stderr).toContain('--status: found "lost"');
});

test('an account that locked itself out is readmitted', async () => {
  await changeAccountSettings(store, accountId, { ipAllowlist: ['203.0.113.0/24'] });
  expect(await json('accounts', 'networks', accountId)).toMatchObject({ ip_allowlist: ['203.0.113.0/24'] });
  expect((await asProcess('accounts', 'networks', accountId, '--allow', '10.0.0.1/8')).stderr).toContain('10.0.0.0/8');
  const both = ['198.51.100.0/24', '2001:db8::/32'];
  expect((await json('accounts', 'networks', accountId, '--allow', both.join(', '))).ip_allowlist).toEqual(both);
  expect((await cli('accounts', 'networks', accountId, '--allow', 'any')).stdout).toContain('no restriction');
  expect((await readAccountSettings(store, accountId))?.ipAllowlist).toEqual([]);
});

test('an account is limited and shown', async () => {
  const limited = await json('accounts', 'limit', accountId, '--per-second', '50', '--idempotency-keys-per-hour', '0');
  expect(limited).toMatchObject({ rate_limit: { per_second: 50, burst: 50 }, idempotency_keys_per_hour: 0 });
  expect((await json('accounts', 'limit', accountId)).rate_limit).toEqual({ per_second: 50, burst: 50 });
  expect((await json('accounts', 'limit', accountId, '--per-second', 'none')).rate_limit).toBeNull();
  for (const weight of [1, 100]) {
    expect((await json('accounts', 'limit', accountId, '--weight', String(weight))).weight).toBe(weight);
  }
  expect((await json('accounts', 'limit', accountId, '--weight', 'default')).weight).toBe(1);
  for (const bad of [
    ['--per-second', '0'],
    ['--per-second', '100001'],
    ['--burst', '5'],
    ['--idempotency-keys-per-hour', '-1'],
    ['--weight', '0'],
    ['--weight', '101'],
  ]) {
    expect([bad, (await cli('accounts', 'limit', accountId, ...bad)).code]).toEqual([bad, 1]);
  }
});

test('an account is suspended and activated', async () => {
  await json('accounts', 'suspend', accountId);
  expect(await findAccount(store, accountId)).toMatchObject({ status: 'suspended' });
  await json('accounts', 'activate', accountId);
  expect(await findAccount(store, accountId)).toMatchObject({ status: 'active' });
});

test('the policy to send once more is set and shown', async () => {
  const never = { otp: false, transactional: false, promotional: false };
  expect((await json('accounts', 'resend', accountId)).resend_unknown).toEqual(never);
  const some = await json('accounts', 'resend', accountId, '--categories', 'otp, transactional');
  expect(some.resend_unknown).toEqual({ ...never, otp: true, transactional: true });
  expect((await cli('accounts', 'resend', accountId, '--categories', 'spam')).stderr).toContain('found "spam"');
  expect((await cli('accounts', 'resend', 'nobody')).code).toBe(1);
  expect((await cli('accounts', 'resend', accountId, '--categories', 'none')).stdout).toContain('not sent again');
});

test('accounts and keys are listed: what to revoke is found again when its output is lost', async () => {
  const made = await json('accounts', 'create', '--name', 'Lost Papers');
  expect((await json('accounts', 'list')).data).toMatchObject([
    { id: made.id, name: 'Lost Papers', status: 'active' },
    { name: 'Rival' },
    { id: accountId, name: 'Post Office' },
  ]);
  const key = parsed(await asProcess('keys', 'create', '--account', made.id, '--test', '--json'));
  const listed = async () => (await json('keys', 'list', '--account', made.id)).data;
  expect(await listed()).toMatchObject([{ id: key.id, livemode: false, revoked: false }]);
  expect(key.key.startsWith(`${(await listed())[0].prefix}_`)).toBe(true);
  await json('keys', 'revoke', key.id);
  expect(await listed()).toMatchObject([{ id: key.id, revoked: true }]);
  expect((await cli('keys', 'list', '--account', 'nobody')).stderr).toContain('expected an account id');
});

test('the handling of messages from subscribers is set and shown', async () => {
  const set = await json('accounts', 'inbound', accountId, '--keep-text', 'yes', '--help-text', 'Call 09612');
  expect(set.inbound).toEqual({ keep_text: true, help_text: 'Call 09612' });
  expect(await readAccountSettings(store, accountId)).toMatchObject({ keepInboundText: true, helpText: 'Call 09612' });
  await json('accounts', 'inbound', accountId, '--help-text', 'none');
  expect((await cli('accounts', 'inbound', accountId)).stdout).toMatch(/kept, encrypted[^]*the default of the country/);
  expect((await cli('accounts', 'inbound', accountId, '--keep-text', 'on')).stderr).toContain('expected yes or no');
  expect((await cli('accounts', 'inbound', accountId, '--help-text', 'x'.repeat(500))).stderr).toContain('459');
});

test('a list of an account that does not exist is refused', async () => {
  const nobody = newAccountId(1);
  const none = { code: 1, stdout: '', stderr: `account_not_found: there is no account ${nobody}\n` };
  for (const list of ['senders', 'templates', 'keys'])
    expect(await cli(list, 'list', '--account', nobody)).toEqual(none);
});
