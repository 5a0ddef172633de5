// Migrations on a real PostgreSQL: from nothing, from the previous version with data, by two processes at once, and not
// at all when the database is newer.
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { createAccount, findAccount } from '../../../control/store/accounts.ts';
import { revokeKey } from '../../../control/store/api-keys.ts';
import { migrateStore, migrations } from '../../../control/store/migrate.ts';
import { openStore } from '../../../control/store/store.ts';
import { newAccountId, newApiKeyId } from '../../../model/ids.ts';
import { type TestPostgres, asked as sql, startPostgres } from '../../support/postgres.ts';

let postgres: TestPostgres;

beforeAll(async () => {
  postgres = await startPostgres();
});
afterAll(async () => {
  await postgres?.stop();
});

/** As the owner of its tables. */
const emptyDatabase = async (name: string) => (await postgres.emptyDatabase(name)).ownerUrl;

const names = Object.keys(migrations);

describe('migrations', () => {
  test('an empty database gets every step, and the second time none', async () => {
    const url = await emptyDatabase('from_nothing');
    expect(await migrateStore(url)).toEqual(names);
    expect(await migrateStore(url)).toEqual([]);
  });

  test('a database of the previous version, with data, is migrated without loss', async () => {
    const url = await emptyDatabase('version_before');
    await migrateStore(url, names.at(-2));
    const accountId = newAccountId(1_000);
    const keyId = newApiKeyId(1_000);
    await sql(url, `insert into accounts (id, name) values ($1, 'Old')`, [accountId]);
    await sql(
      url,
      `insert into api_keys (id, account_id, public_id, secret_hash, livemode, scopes)
       values ($1, $2, 'abcdefghijkl', $3, true, '{sms:send}')`,
      [keyId, accountId, Buffer.alloc(32, 7)],
    );
    await sql(url, `insert into outbox (entity, entity_id) values ('key', 'abcdefghijkl')`);

    expect(await migrateStore(url)).toEqual(names.slice(-1));

    const store = openStore(url);
    try {
      expect(await findAccount(store, accountId)).toMatchObject({ name: 'Old', status: 'active' });
      const key = await store.db.selectFrom('api_keys').selectAll().executeTakeFirstOrThrow();
      expect(key).toMatchObject({ id: keyId, scopes: ['sms:send'], revoked_at: null });
      expect(key.secret_hash.equals(Buffer.alloc(32, 7))).toBe(true);
      expect(await store.db.selectFrom('outbox').selectAll().execute()).toHaveLength(1);
      expect(await revokeKey(store, keyId)).toMatchObject({ id: keyId });
    } finally {
      await store.close();
    }
  });

  test('two processes that migrate at once apply each step once', async () => {
    const url = await emptyDatabase('at_once');
    const applied = await Promise.all([migrateStore(url), migrateStore(url), migrateStore(url)]);
    expect(applied.flat().sort()).toEqual([...names].sort());
    const store = openStore(url);
    expect((await createAccount(store, { name: 'Works' })).ok).toBe(true);
    await store.close();
  });

  test('a database of a newer version stops the start with an error', async () => {
    const url = await emptyDatabase('newer');
    await migrateStore(url);
    await sql(url, `insert into kysely_migration (name, timestamp) values ('9999-future', now()::text)`);
    await expect(migrateStore(url)).rejects.toThrow('newer Heliograph');
  });
});
