// The control-plane database on a real PostgreSQL: the contract of each function, both sides of each bound, and that
// every change leaves an outbox row and an audit record.
import { afterAll, beforeAll, beforeEach, describe, expect, test } from 'vitest';
import { createAccount, findAccount, setAccountStatus } from '../../../control/store/accounts.ts';
import { createKey, listKeys, revokeKey } from '../../../control/store/api-keys.ts';
import { isStoreUnavailable } from '../../../control/store/connection.ts';
import { readOutbox } from '../../../control/store/outbox.ts';
import { createSender, deleteSender, listSenders, setSenderStatus } from '../../../control/store/senders.ts';
import type { Store } from '../../../control/store/store.ts';
import { addSuppressions, listSuppressions } from '../../../control/store/suppressions.ts';
import { secretMatches, splitApiKey } from '../../../model/api-key.ts';
import { type AccountId, type ApiKeyId, newAccountId, newApiKeyId, newSenderId } from '../../../model/ids.ts';
import { until } from '../../support/until.ts';
import { limits } from '../../../platform/limits.ts';
import { type TestDatabase, startDatabase } from '../../support/database.ts';
import { newAccount, newKey } from '../../support/tenants.ts';

let database: TestDatabase;
let store: Store;
let accountId: AccountId;

beforeAll(async () => {
  database = await startDatabase();
  ({ store } = database);
});
afterAll(() => database?.stop());
beforeEach(async () => {
  accountId = await newAccount(store);
  await store.db.deleteFrom('outbox').execute();
});

const outbox = async () => (await readOutbox(store, 100)).map((row) => `${row.entity} ${row.entity_id}`);
const audit = async () =>
  store.db
    .selectFrom('audit_log')
    .select(['action', 'actor', 'target'])
    .where('account_id', '=', accountId)
    .orderBy('id')
    .execute();

describe('accounts', () => {
  test('an account is active, is suspended and activated again, and each step is in the outbox and recorded', async () => {
    expect(await findAccount(store, accountId)).toMatchObject({ name: 'Test', status: 'active' });
    expect(await setAccountStatus(store, accountId, 'suspended')).toBe(true);
    expect(await findAccount(store, accountId)).toMatchObject({ status: 'suspended' });
    expect(await setAccountStatus(store, accountId, 'active', { name: 'key_X', from: '192.0.2.1' })).toBe(true);
    expect(await outbox()).toEqual([`account ${accountId}`, `account ${accountId}`]);
    expect(await audit()).toEqual([
      { action: 'account.created', actor: 'operator', target: accountId },
      { action: 'account.suspended', actor: 'operator', target: accountId },
      { action: 'account.activated', actor: 'key_X', target: accountId },
    ]);
  });

  test('a name of 200 characters is accepted, none or 201 are not', async () => {
    expect((await createAccount(store, { name: 'n'.repeat(200) })).ok).toBe(true);
    for (const name of ['', '   ', 'n'.repeat(201), 'a\u0000b', 'two\nlines', '\ud800']) {
      expect(await createAccount(store, { name })).toEqual({ ok: false, code: 'invalid_name' });
    }
  });

  test('an unknown account is neither found nor suspended', async () => {
    const unknown = newAccountId(1);
    expect(await findAccount(store, unknown)).toBeNull();
    expect(await setAccountStatus(store, unknown, 'suspended')).toBe(false);
  });
});

describe('API keys', () => {
  test('the whole key is returned once; the database has only the hash of its secret', async () => {
    const created = await createKey(store, { accountId, livemode: true, scopes: ['sms:send'], description: 'web' });
    if (!created.ok) throw new Error(created.code);
    const parts = splitApiKey(created.token);
    const row = await store.db
      .selectFrom('api_keys')
      .selectAll()
      .where('id', '=', created.key.id)
      .executeTakeFirstOrThrow();
    expect(secretMatches(parts?.secret ?? '', row.secret_hash)).toBe(true);
    expect(JSON.stringify({ ...row, secret_hash: row.secret_hash.toString('latin1') })).not.toContain(parts?.secret);
    expect(await outbox()).toEqual([`key ${parts?.publicId}`]);
  });

  test('a revoked key is in the outbox once, however often it is revoked, and only by its own account', async () => {
    const created = await createKey(store, { accountId, livemode: false, scopes: [] });
    if (!created.ok) throw new Error(created.code);
    const { id } = created.key;
    expect(await revokeKey(store, id, { accountId: await newAccount(store, 'Other') })).toBeNull();
    const revoked = await revokeKey(store, id, { accountId });
    expect(revoked?.revokedAtMs).toBeGreaterThan(0);
    expect((await revokeKey(store, id))?.revokedAtMs).toBe(revoked?.revokedAtMs);
    expect((await outbox()).filter((row) => row.startsWith('key'))).toHaveLength(2);
    expect(await revokeKey(store, newApiKeyId(1))).toBeNull();
  });

  test('an account has at most its bound of keys at a time; a revoked one frees a place', async () => {
    const max = limits.store.keysPerAccountMax;
    const made = [];
    for (let count = 0; count < max; count += 1)
      made.push(await createKey(store, { accountId, livemode: false, scopes: [] }));
    expect(made.every((one) => one.ok)).toBe(true);
    expect(await createKey(store, { accountId, livemode: false, scopes: [] })).toEqual({
      ok: false,
      code: 'too_many_keys',
    });
    const [first] = made;
    if (first?.ok) await revokeKey(store, first.key.id);
    expect((await createKey(store, { accountId, livemode: false, scopes: [] })).ok).toBe(true);
  });

  test('the bound holds when keys are created at the same moment', async () => {
    const max = limits.store.keysPerAccountMax;
    for (let count = 0; count < max - 1; count += 1) await createKey(store, { accountId, livemode: false, scopes: [] });
    const raced = await Promise.all(
      Array.from({ length: 5 }, () => createKey(store, { accountId, livemode: false, scopes: [] })),
    );
    expect(raced.filter((one) => one.ok)).toHaveLength(1);
  });

  test('a list is newest first, in pages, without gaps', async () => {
    for (let count = 0; count < 5; count += 1) await createKey(store, { accountId, livemode: true, scopes: [] });
    const first = await listKeys(store, accountId, { limit: 3, after: null });
    const second = await listKeys(store, accountId, { limit: 3, after: first.next });
    expect([first.items.length, second.items.length, second.next]).toEqual([3, 2, null]);
    const ids = [...first.items, ...second.items].map((key) => key.id);
    expect(ids).toEqual([...new Set(ids)].sort().reverse());
    const exact = await listKeys(store, accountId, { limit: 5, after: null });
    expect([exact.items.length, exact.next]).toEqual([5, null]);
  });

  test('an unknown account gets no key', async () => {
    const refused = await createKey(store, { accountId: newAccountId(1), livemode: true, scopes: [] });
    expect(refused).toEqual({ ok: false, code: 'account_not_found' });
  });
});

describe('revoked keys', () => {
  test('of revoked keys the newest are kept', async () => {
    const revoked = Array.from({ length: limits.store.revokedKeysMax + 5 }, (_, at) => ({
      id: `key_${String(at).padStart(26, '0')}` as ApiKeyId,
      account_id: accountId,
      public_id: `revoked${String(at).padStart(5, '0')}`,
      secret_hash: Buffer.alloc(32),
      livemode: true,
      scopes: ['sms:send' as const],
      description: '',
      created_at: new Date(at),
      expires_at: null,
      revoked_at: new Date(at),
      rate_per_second: null,
      rate_burst: null,
    }));
    await store.db.insertInto('api_keys').values(revoked).execute();
    const { id } = await newKey(store, accountId);
    await revokeKey(store, id);
    const left = await store.db.selectFrom('api_keys').select('id').where('account_id', '=', accountId).execute();
    expect(left.length).toBe(limits.store.revokedKeysMax);
    expect(left.map((row) => row.id)).toContain(id);
    expect(left.map((row) => row.id)).not.toContain(revoked[5]?.id);
    expect(left.map((row) => row.id)).toContain(revoked[6]?.id);
  });
});

describe('senders', () => {
  test('a sender is requested, approved and deleted, and the account is in the outbox each time', async () => {
    const created = await createSender(store, { accountId, name: 'HELIOGRAPH', status: 'pending' });
    if (!created.ok) throw new Error(created.code);
    expect(created.sender).toMatchObject({ kind: 'alphanumeric', status: 'pending' });
    expect(await setSenderStatus(store, created.sender.id, 'approved')).toMatchObject({ status: 'approved' });
    expect((await listSenders(store, accountId, { limit: 10, after: null })).items).toHaveLength(1);
    expect(await deleteSender(store, created.sender.id, { accountId: await newAccount(store, 'Other') })).toBe(false);
    expect(await deleteSender(store, created.sender.id, { accountId })).toBe(true);
    expect(await deleteSender(store, created.sender.id, { accountId })).toBe(false);
    expect((await outbox()).filter((row) => row === `account ${accountId}`)).toHaveLength(3);
    expect(await setSenderStatus(store, newSenderId(1), 'approved')).toBeNull();
  });

  test('a name is unique within an account; other accounts may have it too', async () => {
    expect((await createSender(store, { accountId, name: '12345', status: 'pending' })).ok).toBe(true);
    const again = await createSender(store, { accountId, name: '12345', status: 'pending' });
    expect(again).toEqual({ ok: false, code: 'sender_exists' });
    const other = await createSender(store, {
      accountId: await newAccount(store, 'Other'),
      name: '12345',
      status: 'pending',
    });
    expect(other).toMatchObject({ ok: true, sender: { kind: 'short_code' } });
  });

  test('a sender that no handset could show is refused', async () => {
    const refused = await createSender(store, { accountId, name: 'TWELVE-CHARS', status: 'pending' });
    expect(refused).toEqual({ ok: false, code: 'invalid_sender' });
  });

  test('an account has at most its bound of senders', async () => {
    const max = limits.store.sendersPerAccountMax;
    await store.db
      .insertInto('senders')
      .values(
        Array.from({ length: max - 1 }, (_, at) => ({
          id: newSenderId(at + 1),
          account_id: accountId,
          name: `S${at}`,
          kind: 'alphanumeric' as const,
          status: 'approved' as const,
          created_at: new Date(0),
        })),
      )
      .execute();
    expect((await createSender(store, { accountId, name: 'LAST', status: 'pending' })).ok).toBe(true);
    expect(await createSender(store, { accountId, name: 'MORE', status: 'pending' })).toEqual({
      ok: false,
      code: 'too_many_senders',
    });
  });
});

describe('an unavailable database', () => {
  test('in the middle of a transaction fails that transaction and not the process', async () => {
    const failed = store.db
      .transaction()
      .execute(async (tx) => {
        await tx.selectFrom('accounts').select('id').limit(1).execute();
        await database.postgres.kill9();
        await database.postgres.restart();
        await tx.selectFrom('accounts').select('id').limit(1).execute();
      })
      .then(
        () => null,
        (error: unknown) => error,
      );
    expect(isStoreUnavailable(await failed)).toBe(true);
    expect(await findAccount(store, accountId)).toMatchObject({ id: accountId });
  });

  test("fails with an error that differs from a bug's, and is used again when it is back", async () => {
    await database.postgres.kill9();
    // A server process whose parent was killed may answer one more query.
    const refusal = () =>
      findAccount(store, accountId).then(
        () => null,
        (reason: unknown) => reason as Error,
      );
    expect(isStoreUnavailable(await until('the database is away', refusal))).toBe(true);
    await database.postgres.restart();
    expect(await findAccount(store, accountId)).toMatchObject({ id: accountId });
    const bug = await store.db
      .selectFrom('accounts')
      .select('nonsense' as 'id')
      .execute()
      .catch((reason: unknown) => reason);
    expect(isStoreUnavailable(bug)).toBe(false);
  });
});

describe('a list of numbers', () => {
  const { importPartMax } = limits.suppression;
  /** Counts the turns that an import waits for. */
  function counting(next: () => Promise<void> = () => Promise.resolve()) {
    let turns = 0;
    const importTurns = {
      next() {
        turns += 1;
        return next();
      },
    };
    return { store: { ...store, importTurns }, turns: () => turns };
  }
  const list = (count: number) => ({
    accountId,
    numbers: Array.from({ length: count }, (_, at) => `+88017${10_000_000 + at}`),
    sender: null,
    category: null,
    reason: 'import' as const,
  });

  test.each([
    [1, 0],
    [importPartMax, 0],
    [importPartMax + 1, 1],
    [limits.suppression.importMax, limits.suppression.importMax / importPartMax - 1],
  ])('of %i is written in parts, %i of them after a pause, and is one change', async (count, pauses) => {
    const counted = counting();
    const added = await addSuppressions(counted.store, list(count));
    expect(added.ok && added.added.length).toBe(count);
    expect(counted.turns()).toBe(pauses);
    expect((await audit()).map(({ action }) => action)).toEqual(['account.created', 'suppression.added']);
  });

  test('that fails after its first part leaves nothing', async () => {
    const { store: failing } = counting(() => Promise.reject(new Error('the connection is gone')));
    await expect(addSuppressions(failing, list(importPartMax + 1))).rejects.toThrow('the connection is gone');
    const { items } = await listSuppressions(store, accountId, { limit: 1, after: null });
    expect(items).toEqual([]);
  });
});
