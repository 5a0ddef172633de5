// Prepares the database for the application role: its owner migrates and grants, over connections that are closed
// before anything else runs. Without an owner's URL the role of DATABASE_URL migrates, if it may.
import { sql } from 'kysely';
import { SetupError } from '../../platform/errors.ts';
import { installationId } from './installation.ts';
import { migrateStore } from './migrate.ts';
import { grantRights } from './rights.ts';
import type { Store } from './store.ts';

export type DatabaseUrls = {
  /** With the application role. */
  readonly databaseUrl: string;
  /** Null: the application role owns the tables, or another role migrates. */
  readonly ownerUrl: string | null;
};

/** `store` uses `databaseUrl`. */
export async function prepareStore(store: Store, { databaseUrl, ownerUrl }: DatabaseUrls): Promise<void> {
  if (ownerUrl === null) return void (await migrateStore(databaseUrl));
  const [role] = await Promise.all([roleOf(store), migrateStore(ownerUrl)]);
  const database = await grantRights(ownerUrl, role);
  if ((await nameOrNull(store)) !== database) {
    throw new SetupError('DATABASE_OWNER_URL: expected the same database as in DATABASE_URL');
  }
}

async function roleOf(store: Store): Promise<string> {
  const { rows } = await sql<{ role: string }>`select current_user as role`.execute(store.db);
  return rows[0]?.role ?? '';
}

const undefinedTable = '42P01';

async function nameOrNull(store: Store): Promise<string | null> {
  try {
    return await installationId(store);
  } catch (error) {
    if ((error as { code?: unknown }).code !== undefinedTable) throw error;
    return null;
  }
}
