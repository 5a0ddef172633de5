// The name of the database, independent of its address. Two databases with one name are copies of each other.
import { join } from 'node:path';
import type { Store } from './store.ts';

export async function installationId(store: Store): Promise<string> {
  const { id } = await store.db.selectFrom('installation').select('id').executeTakeFirstOrThrow();
  return id;
}

/** The file with the name of the database this machine used last, for the doctor while that database does not run. */
export const databaseNameFile = (dataDir: string) => join(dataDir, 'database-name');
