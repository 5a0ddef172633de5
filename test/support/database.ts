// A private PostgreSQL with the product's tables in it, and a pool on them: the application role's, as in the product.
import { prepareStore } from '../../control/store/migrate.ts';
import { type Store, openStore } from '../../control/store/store.ts';
import { type TestPostgres, startPostgres } from './postgres.ts';

export type TestDatabase = { readonly postgres: TestPostgres; readonly store: Store; stop(): Promise<void> };

export async function startDatabase(): Promise<TestDatabase> {
  const postgres = await startPostgres();
  const store = openStore(postgres.applicationUrl);
  await prepareStore(store, { databaseUrl: postgres.applicationUrl, ownerUrl: postgres.ownerUrl });
  return {
    postgres,
    store,
    async stop() {
      await store.close();
      await postgres.stop();
    },
  };
}
