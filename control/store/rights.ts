// The rights of the application role on each table, and the grants by the owner: only what the control role uses
// while it runs. It creates, alters and truncates no table, and changes no record of the audit log. A table that is
// not listed has no rights; test/control/store/rights.test.ts finds forgotten ones.
import { sql } from 'kysely';
import pg from 'pg';
import { SetupError, ignoring } from '../../platform/errors.ts';
import { clientConfigOf } from './connection.ts';
import type { Store } from './store.ts';

type Right = 'select' | 'insert' | 'update' | 'delete';

const readOnly = ['select'] as const;
const everything = ['select', 'insert', 'update', 'delete'] as const;

/** Rights by table. `select … for update` requires the right to update. */
export const tableRights: Readonly<Record<string, readonly Right[]>> = {
  accounts: ['select', 'insert', 'update'],
  api_keys: everything,
  senders: everything,
  templates: everything,
  webhook_endpoints: everything,
  suppressions: everything,
  suppression_blocks: everything,
  subscriber_decisions: everything,
  erasures: ['select', 'insert'],
  outbox: ['select', 'insert', 'delete'],
  // Rows are inserted through the parent table; the application role has no right on its partitions.
  audit_log: ['select', 'insert'],
  audit_chain: ['select', 'update'],
  installation: readOnly,
  // After the owner migrated, a start without its URL must see that no step is pending.
  kysely_migration: readOnly,
  kysely_migration_lock: readOnly,
};

/** The sequences of `bigserial` columns it inserts into. */
export const sequencesUsed = ['outbox_id_seq'] as const;
export const functionsUsed = ['ensure_audit_partition(text)'] as const;

/** An arbitrary number other than the projector's: owners that start at once run one after the other. */
const rightsLock = 0x48_45_4c_4a;

/** Grants the listed rights to `role` and revokes all others, as the tables' owner. Returns the database's name. */
export async function grantRights(ownerUrl: string, role: string): Promise<string> {
  const client = new pg.Client(clientConfigOf(ownerUrl));
  client.on('error', (error) => ignoring(error, 'the connection that grants rights broke'));
  await client.connect();
  try {
    const { rows } = await client.query(
      `select current_user as me, current_schema() as schema, (select id from installation) as database,
        exists (select from pg_roles where rolname = $1) as known`,
      [role],
    );
    const { me, schema, database, known } = rows[0] as Record<'me' | 'schema' | 'database', string> & {
      known: boolean;
    };
    // The owner has every right by itself.
    if (role === me) return database;
    if (!known) throw new SetupError(`DATABASE_URL: the server of DATABASE_OWNER_URL knows no role "${role}"`);
    // One message and one transaction, so that no other session sees a partial state.
    await client.query(grantText(client.escapeIdentifier(role), client.escapeIdentifier(schema)));
    return database;
  } finally {
    await client.end();
  }
}

function grantText(role: string, schema: string): string {
  const tables = Object.keys(tableRights).map((name) => `${schema}.${name}`);
  return [
    `select pg_advisory_xact_lock(${rightsLock})`,
    `grant usage on schema ${schema} to ${role}`,
    `revoke all on table ${tables.join(', ')} from ${role}`,
    ...Object.entries(tableRights).map(
      ([table, rights]) => `grant ${rights.join(', ')} on table ${schema}.${table} to ${role}`,
    ),
    ...sequencesUsed.map((name) => `grant usage on sequence ${schema}.${name} to ${role}`),
    ...functionsUsed.map((name) => `grant execute on function ${schema}.${name} to ${role}`),
  ].join(';\n');
}

/** A warning when the running role has more rights than it needs; null otherwise. */
export async function rightsTooWide(store: Store): Promise<string | null> {
  const { rows } = await sql<{ role: string; superuser: boolean; owner: boolean | null }>`
    select rolname as role, rolsuper as superuser, pg_has_role(rolname, (
      select relowner from pg_class where oid = to_regclass('audit_log')), 'member') as owner
    from pg_roles where rolname = current_user`.execute(store.db);
  const { role = '', superuser = false, owner = false } = rows[0] ?? {};
  if (!superuser && owner !== true) return null;
  return (
    `DATABASE_URL: the role "${role}" ${superuser ? 'is a superuser' : 'owns the tables'} and could rewrite the audit log: ` +
    'make a role for the application and set DATABASE_OWNER_URL to the owner (docs/operations.md, Roles of the database)'
  );
}
