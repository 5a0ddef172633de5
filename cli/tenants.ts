// `accounts create|list|suspend|activate`, `keys create|list|revoke`: manages tenants in the database of the running
// system. The outbox sends every change to all ingresses.
import { accountScopes, isOperatorScope, scopes as allScopes } from '../model/api-key.ts';
import type { AccountId, ApiKeyId } from '../model/ids.ts';
import { systemClock } from '../platform/clock.ts';
import { withDeadline } from '../platform/deadline.ts';
import { SetupError, messageOf } from '../platform/errors.ts';
import { loadSettings } from '../config/settings.ts';
import { createAccount, findAccount, listAccounts, setAccountStatus } from '../control/store/accounts.ts';
import { createKey, listKeys, revokeKey } from '../control/store/api-keys.ts';
import { isStoreUnavailable } from '../control/store/connection.ts';
import type { Page } from '../control/store/page.ts';
import { type Store, openStore } from '../control/store/store.ts';
import { readConnections } from '../cluster/supervisor/data-folder.ts';
import { operatorName } from './operator-name.ts';
import { accountIdOf, someOf } from './options.ts';
import { type Result, quoted } from './print.ts';
import { closing } from './with-bus.ts';
import { demoKeysFile, savedDemo } from '../control/store/demo.ts';

export async function createAccountCommand(options: { name: string }): Promise<Result> {
  const made = await withStore((store) => createAccount(store, { name: options.name }));
  if (!made.ok) throw new SetupError(`${made.code}: the name must have 1 to 200 characters`);
  const { id, name, status } = made.account;
  return {
    json: { id, object: 'account', name, status },
    lines: [`Account  ${id}  ${name}`, `Next:    npx heliograph keys create --account ${id}`],
  };
}

export async function listAccountsCommand(): Promise<Result> {
  const accounts = await withStore((store) => everyPage((after) => listAccounts(store, { limit: pageSize, after })));
  return {
    json: { data: accounts.map(({ id, name, status }) => ({ id, object: 'account', name, status })) },
    lines: accounts.map(({ id, name, status }) => `${id}  ${status.padEnd(9)}  ${quoted(name)}`),
  };
}

export const accountStatusCommand =
  (status: 'suspended' | 'active') =>
  async (id: string): Promise<Result> => {
    const accountId = accountIdOf(id);
    if (!(await withStore((store) => setAccountStatus(store, accountId, status)))) throw accountNotFound(id);
    return { json: { id, object: 'account', status }, lines: [`Account  ${id}  ${status}`] };
  };

export const accountNotFound = (id: string) => new SetupError(`account_not_found: there is no account ${id}`);

/** Before a list of what an account has: that of one which does not exist is empty. */
export async function assertStoredAccount(store: Store, accountId: AccountId): Promise<void> {
  if ((await findAccount(store, accountId)) === null) throw accountNotFound(accountId);
}

export async function createKeyCommand(options: {
  account: string;
  test?: boolean;
  scopes?: string;
  description?: string;
}): Promise<Result> {
  const accountId = accountIdOf(options.account, '--account');
  const scopes =
    options.scopes === undefined ? accountScopes : someOf('--scopes', options.scopes, allScopes, 'scopes of');
  const wanted = { accountId, livemode: options.test !== true, scopes };
  const operators = wanted.scopes.filter(isOperatorScope);
  if (!wanted.livemode && operators.length > 0) {
    throw new SetupError(
      `--test: a test key cannot have ${operators.join(', ')}, which concern the whole installation`,
    );
  }
  const made = await withStore((store) => createKey(store, { ...wanted, description: options.description ?? '' }));
  if (!made.ok) {
    if (made.code === 'account_not_found') throw accountNotFound(accountId);
    throw new SetupError(`${made.code}: revoke a key of ${accountId} first`);
  }
  const { id, livemode } = made.key;
  return {
    json: { id, object: 'api_key', account: accountId, livemode, scopes, key: made.token },
    lines: [
      `Key      ${id}  ${livemode ? 'live' : 'test'}  ${scopes.join(',')}`,
      `         ${made.token}`,
      'It is shown only once: store it now.',
    ],
  };
}

export async function listKeysCommand(options: { account: string }): Promise<Result> {
  const accountId = accountIdOf(options.account, '--account');
  const keys = await withStore(async (store) => {
    await assertStoredAccount(store, accountId);
    return everyPage((after) => listKeys(store, accountId, { limit: pageSize, after }));
  });
  const shown = keys.map((key) => ({
    id: key.id,
    object: 'api_key',
    account: key.accountId,
    livemode: key.livemode,
    prefix: `hk_${key.livemode ? 'live' : 'test'}_${key.publicId}`,
    scopes: key.scopes,
    description: key.description,
    revoked: key.revokedAtMs !== null,
  }));
  const lines = shown.map((key) => {
    const state = key.revoked ? 'revoked' : 'in effect';
    return `${key.id}  ${key.prefix}_…  ${state}  ${key.scopes.join(',')}  ${key.description === '' ? '' : quoted(key.description)}`.trimEnd();
  });
  return { json: { data: shown }, lines };
}

export async function revokeKeyCommand(id: string): Promise<Result> {
  const key = await withStore((store) => revokeKey(store, id as ApiKeyId));
  if (key === null) throw new SetupError(`key_not_found: there is no key ${id}`);
  const revokedAt = new Date(key.revokedAtMs ?? 0).toISOString();
  return {
    json: { id, object: 'api_key', account: key.accountId, revoked_at: revokedAt },
    lines: [`Revoked  ${id}  ${revokedAt}`],
  };
}

const databaseAnswersWithinMs = 15_000;
const pageSize = 100;

/** All items of a paged list. */
async function everyPage<T>(read: (after: string | null) => Promise<Page<T>>): Promise<T[]> {
  const all: T[] = [];
  for (let after: string | null = null; ; ) {
    const { items, next }: Page<T> = await read(after);
    all.push(...items);
    if (next === null) return all;
    after = next;
  }
}

/**
 * Runs `work` with the database of DATABASE_URL or of the running system; `asOwner`: as the owner of its tables. Throws
 * SetupError when there is none or it cannot be reached.
 */
export async function withStore<T>(
  work: (store: Store) => Promise<T>,
  { withinMs = databaseAnswersWithinMs, asOwner = false }: { withinMs?: number; asOwner?: boolean } = {},
): Promise<T> {
  const settings = loadSettings();
  const { databaseUrl, databaseOwnerUrl } =
    settings.databaseUrl === null ? (readConnections(settings.dataDir) ?? settings) : settings;
  const url = asOwner ? (databaseOwnerUrl ?? databaseUrl) : databaseUrl;
  if (url === null) {
    throw new SetupError(
      `Heliograph does not run on ${settings.dataDir}: start it first (npm start), or set HELIOGRAPH_DATA or DATABASE_URL`,
    );
  }
  const store = openStore(url, systemClock, { actor: operatorName() });
  try {
    return await closing(store, () => withDeadline('the database', withinMs, work(store)));
  } catch (error) {
    if (isStoreUnavailable(error)) throw new SetupError(`The database cannot be reached: ${messageOf(error)}`, error);
    throw error;
  }
}

/**
 * Prints a key that the first start created. Standard output has only the key, for use in a shell: KEY=$(npx
 * heliograph keys demo).
 */
export function demoKeyCommand(options: { test?: boolean }): Result {
  const file = demoKeysFile(loadSettings().dataDir);
  const demo = savedDemo(file);
  if (demo === null) {
    throw new SetupError(
      `There is no demo account on this machine (${file}): set HELIOGRAPH_DATA to the data folder of the system, or heliograph accounts create, keys create`,
    );
  }
  const livemode = options.test !== true;
  const key = livemode ? demo.liveKey : demo.testKey;
  if (key === null) {
    throw new SetupError(
      'There is no live demo key: not all carriers are simulated. Create a key (heliograph keys create), or use the test key (--test)',
    );
  }
  return { json: { object: 'api_key', account: demo.accountId, livemode, key }, lines: [key] };
}
