// The demo account of a first start: an account, a live and a test key and some approved senders, so that the first
// SMS needs nothing but a paste. Made only in a database without accounts. Its keys stay in a file that only
// the owner of the data folder can read, so that later starts can print them again.
import { existsSync, readFileSync, renameSync, rmSync, writeFileSync } from 'node:fs';
import { type Scope, accountScopes, splitApiKey } from '../../model/api-key.ts';
import type { AccountId } from '../../model/ids.ts';
import { assert } from '../../platform/assert.ts';
import { ignoring } from '../../platform/errors.ts';
import { createAccount, hasAccounts } from './accounts.ts';
import { createKey } from './api-keys.ts';
import { createSender } from './senders.ts';
import type { Store } from './store.ts';

export type Demo = { readonly accountId: AccountId; readonly liveKey: string; readonly testKey: string };

const firstStart = 'first-start';
const demoSenders = ['HELIOGRAPH', 'Heliograph', 'DEMO', '16247'];

/** Null when this database is no demo's any more: it has accounts of its own, or the demo's keys were revoked. */
export async function demoAccount(store: Store, file: string): Promise<Demo | null> {
  const saved = readSaved(file);
  if (saved !== null && saved !== 'unfinished') return (await isValid(store, saved)) ? saved : null;
  if (saved === null) {
    if (await hasAccounts(store)) return null;
    // Said before the first row: a start that dies half-way is finished by the next one.
    save(file, { unfinished: true });
  }
  const accountId = (await accountOfFirstStart(store)) ?? (await newDemoAccount(store));
  for (const name of demoSenders) await createSender(store, { accountId, name, status: 'approved', actor: firstStart });
  const demo = {
    accountId,
    liveKey: await newDemoKey(store, accountId, true),
    testKey: await newDemoKey(store, accountId, false),
  };
  save(file, demo);
  return demo;
}

async function accountOfFirstStart(store: Store): Promise<AccountId | null> {
  const row = await store.db
    .selectFrom('audit_log')
    .select('account_id')
    .where('actor', '=', firstStart)
    .where('action', '=', 'account.created')
    .orderBy('id', 'desc')
    .limit(1)
    .executeTakeFirst();
  return row?.account_id ?? null;
}

async function newDemoAccount(store: Store): Promise<AccountId> {
  const made = await createAccount(store, { name: 'Demo', actor: firstStart });
  assert(made.ok, 'the demo account has a name that is refused');
  return made.account.id;
}

async function newDemoKey(store: Store, accountId: AccountId, livemode: boolean): Promise<string> {
  const all: readonly Scope[] = accountScopes;
  const made = await createKey(store, { accountId, livemode, scopes: all, description: 'Demo', actor: firstStart });
  assert(made.ok, 'a fresh account cannot have too many keys');
  return made.token;
}

async function isValid(store: Store, demo: Demo): Promise<boolean> {
  const publicIds = [demo.liveKey, demo.testKey].map((token) => splitApiKey(token)?.publicId ?? '');
  const rows = await store.db
    .selectFrom('api_keys')
    .select('id')
    .where('public_id', 'in', publicIds)
    .where('revoked_at', 'is', null)
    .execute();
  return rows.length === publicIds.length;
}

function readSaved(file: string): Demo | 'unfinished' | null {
  if (!existsSync(file)) return null;
  try {
    const saved = JSON.parse(readFileSync(file, 'utf8')) as Partial<Demo> & { unfinished?: true };
    if (saved.unfinished === true) return 'unfinished';
    const { accountId, liveKey, testKey } = saved;
    if (accountId === undefined || liveKey === undefined || testKey === undefined) return null;
    return { accountId, liveKey, testKey };
  } catch (error) {
    // Then the keys cannot be printed; nothing else needs them.
    ignoring(error, 'demo-keys.json cannot be read');
    return null;
  }
}

/** In one step: a file that is half written would lose the keys. */
function save(file: string, content: object): void {
  const fresh = `${file}.${process.pid}`;
  rmSync(fresh, { force: true });
  writeFileSync(fresh, `${JSON.stringify(content, null, 2)}\n`, { mode: 0o600, flag: 'wx' });
  renameSync(fresh, file);
}
