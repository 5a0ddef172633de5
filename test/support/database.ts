// A private PostgreSQL with the product's tables in it, and a pool on them.
import { migrateStore } from '../../cluster/store/migrate.ts';
import { type Store, openStore } from '../../cluster/store/store.ts';
import { type TestPostgres, startPostgres } from './postgres.ts';

export type TestDatabase = { readonly postgres: TestPostgres; readonly store: Store; stop(): Promise<void> };

export async function startDatabase(): Promise<TestDatabase> {
  const postgres = await startPostgres();
  await migrateStore(postgres.url);
  const store = openStore(postgres.url);
  return {
    postgres,
    store,
    async stop() {
      await store.close();
      await postgres.stop();
    },
  };
}
