// Migrates the database to this version's schema. Forward only, all pending steps in one transaction under an advisory
// lock, so several control processes may start at once. A database of a newer version stops the start with a
// SetupError. With an owner's URL the owner migrates and grants the rights of the application role, over connections
// that are closed before anything else runs.
import { Kysely, sql } from 'kysely';
import { type Migration, Migrator } from 'kysely/migration';
import { SetupError, messageOf } from '../../platform/errors.ts';
import { limits } from '../../platform/limits.ts';
import { log } from '../../platform/log.ts';
import { dialectOf, hasSqlState } from './connection.ts';
import { tenants } from './migrations/0001-tenants.ts';
import { subscribers } from './migrations/0002-subscribers.ts';
import { auditLog } from './migrations/0003-audit-log.ts';
import { webhooks } from './migrations/0004-webhooks.ts';
import { otp } from './migrations/0005-otp.ts';
import { erasures } from './migrations/0006-erasures.ts';
import { webhooksEnabled } from './migrations/0007-webhooks-enabled.ts';
import { installationIdOrNull, type Store } from './store.ts';
import { grantRights } from './rights.ts';

/** In order; the names are written into the database and must not change. */
export const migrations: Readonly<Record<string, Migration>> = {
  '0001-tenants': tenants,
  '0002-subscribers': subscribers,
  '0003-audit-log': auditLog,
  '0004-webhooks': webhooks,
  '0005-otp': otp,
  '0006-erasures': erasures,
  '0007-webhooks-enabled': webhooksEnabled,
};

/** Returns the names of the applied steps. `upTo` is the last step to apply, for tests of the next one. */
export async function migrateStore(databaseUrl: string, upTo?: string): Promise<readonly string[]> {
  // A separate connection: a step over a large table, or the wait for another process's steps, may take longer than the
  // statement timeout of the running system.
  const db = new Kysely<unknown>({
    dialect: dialectOf(databaseUrl, { poolMax: 1, statementTimeoutMs: limits.store.migrationTimeoutMs }),
  });
  try {
    const migrator = new Migrator({ db, provider: { getMigrations: async () => ({ ...migrations }) } });
    const { error, results } = upTo === undefined ? await migrator.migrateToLatest() : await migrator.migrateTo(upTo);
    if (error !== undefined) throw explained(error);
    const applied = (results ?? []).filter((step) => step.status === 'Success').map((step) => step.migrationName);
    if (applied.length > 0) log.info({ applied }, 'database migrated');
    return applied;
  } finally {
    await db.destroy();
  }
}

function explained(error: unknown): unknown {
  if (hasSqlState(error, 'insufficientPrivilege')) {
    return new SetupError(
      `The tables must be brought up to date by their owner: set DATABASE_OWNER_URL to that role (${messageOf(error)}; docs/operations.md, Roles of the database)`,
      error,
    );
  }
  // Kysely's error about a step in the database that this version does not have.
  if (!/previously executed migration .* is missing/.test(messageOf(error))) return error;
  return new SetupError('The database was migrated by a newer Heliograph: start that version, or a newer one.', error);
}

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
  if ((await installationIdOrNull(store)) !== database) {
    throw new SetupError('DATABASE_OWNER_URL: expected the same database as in DATABASE_URL');
  }
}

async function roleOf(store: Store): Promise<string> {
  const { rows } = await sql<{ role: string }>`select current_user as role`.execute(store.db);
  return rows[0]?.role ?? '';
}
