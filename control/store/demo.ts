// The demo account of a first start: a live and a test key and approved senders, so that the first SMS needs no set-up.
// Created only in a database without accounts. Its keys are in a file that only the owner of the data folder can read.
// A live demo key exists only where all carriers are simulated, so that it can never reach a handset.
import { hostname } from 'node:os';
import { existsSync, readFileSync, renameSync, rmSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { type Scope, accountScopes, splitApiKey } from '../../model/api-key.ts';
import type { AccountId } from '../../model/ids.ts';
import { assert } from '../../platform/assert.ts';
import { ignoring } from '../../platform/errors.ts';
import { log } from '../../platform/log.ts';
import { createAccount, hasAccounts } from './accounts.ts';
import { createKey, revokeKey } from './api-keys.ts';
import { createSender } from './senders.ts';
import type { Store } from './store.ts';

export type Demo = {
  readonly accountId: AccountId;
  /** Null where a carrier is not simulated, and for ever once that was so. */
  readonly liveKey: string | null;
  readonly testKey: string;
};

export type DemoAccount = Demo & {
  /** Made by this start: its keys were never shown. */
  readonly isNew: boolean;
  /** Revoked by this start, because a carrier is not simulated any more. */
  readonly liveKeyRevoked: boolean;
};

type DemoOptions = {
  readonly file: string;
  /** Names of the carriers that are not simulated. */
  readonly realCarriers: readonly string[];
};

const firstStart = { name: 'first-start', from: hostname() };
const demoSenders = ['HELIOGRAPH', 'Heliograph', 'DEMO', '16247'];

/** Null when this database has accounts of its own, or the demo's keys were revoked. */
export async function demoAccount(store: Store, { file, realCarriers }: DemoOptions): Promise<DemoAccount | null> {
  const saved = readSaved(file);
  if (saved !== null && saved !== 'unfinished') {
    const tokens = [saved.liveKey ?? [], saved.testKey].flat();
    if ((await keysInEffect(store, tokens)).length < tokens.length) return null;
    const liveKeyRevoked = await revokeLiveDemoKey(store, { file, realCarriers });
    return { ...saved, liveKey: liveKeyRevoked ? null : saved.liveKey, isNew: false, liveKeyRevoked };
  }
  if (saved === null) {
    if (await hasAccounts(store)) return null;
    // Written before the first row, so that the next start completes an interrupted one.
    save(file, { unfinished: true });
  }
  const accountId = (await accountOfFirstStart(store)) ?? (await newDemoAccount(store));
  for (const name of demoSenders) await createSender(store, { accountId, name, status: 'approved', actor: firstStart });
  const demo = {
    accountId,
    liveKey: realCarriers.length === 0 ? await newDemoKey(store, accountId, true) : null,
    testKey: await newDemoKey(store, accountId, false),
  };
  save(file, demo);
  return { ...demo, isNew: true, liveKeyRevoked: false };
}

/** Revokes the live demo key if a carrier is not simulated. True when it revoked one. */
export async function revokeLiveDemoKey(store: Store, { file, realCarriers }: DemoOptions): Promise<boolean> {
  const saved = readSaved(file);
  if (saved === null || saved === 'unfinished' || saved.liveKey === null || realCarriers.length === 0) return false;
  const [row] = await keysInEffect(store, [saved.liveKey]);
  if (row !== undefined) await revokeKey(store, row.id, { accountId: saved.accountId, actor: firstStart });
  save(file, { ...saved, liveKey: null });
  log.warn({ carriers: realCarriers }, 'the live demo key is revoked: not all carriers are simulated');
  return row !== undefined;
}

/** The keys of this machine's demo account; null when there is none. */
export function savedDemo(file: string): Demo | null {
  const saved = readSaved(file);
  return saved === 'unfinished' ? null : saved;
}

/** The file with the demo's keys. */
export const demoKeysFile = (dataDir: string) => join(dataDir, 'demo-keys.json');

async function accountOfFirstStart(store: Store): Promise<AccountId | null> {
  const row = await store.db
    .selectFrom('audit_log')
    .select('account_id')
    .where('actor', '=', firstStart.name)
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

/** Those of these keys that are not revoked. */
function keysInEffect(store: Store, tokens: readonly string[]) {
  const publicIds = tokens.map((token) => splitApiKey(token)?.publicId ?? '');
  return store.db
    .selectFrom('api_keys')
    .select('id')
    .where('public_id', 'in', publicIds)
    .where('revoked_at', 'is', null)
    .execute();
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
    // Without the file the keys cannot be printed; nothing else needs them.
    ignoring(error, 'demo-keys.json cannot be read');
    return null;
  }
}

/** Written atomically: a partial file would lose the keys. */
function save(file: string, content: object): void {
  const fresh = `${file}.${process.pid}`;
  rmSync(fresh, { force: true });
  writeFileSync(fresh, `${JSON.stringify(content, null, 2)}\n`, { mode: 0o600, flag: 'wx' });
  renameSync(fresh, file);
}
