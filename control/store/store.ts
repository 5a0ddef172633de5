// The only access to the control-plane database. Every change of a tenant ends with `record`, which writes the audit
// record and the outbox row in the same transaction, so that no crash hides it from the directory. The hot path reads
// the directory instead.
import { isDeepStrictEqual } from 'node:util';
import { Kysely, type Transaction, sql } from 'kysely';
import type { AccountId } from '../../model/ids.ts';
import { type Clock, systemClock } from '../../platform/clock.ts';
import { ignoring } from '../../platform/errors.ts';
import { limits } from '../../platform/limits.ts';
import { Turns } from '../../platform/turns.ts';
import type { AuditAction } from './audit-actions.ts';
import { appendAudit } from './audit-chain.ts';
import { dialectOf, hasSqlState } from './connection.ts';
import type { OutboxTable, Tables } from './schema.ts';
import { join } from 'node:path';

export type Store = {
  readonly db: Kysely<Tables>;
  readonly clock: Clock;
  /** The actor of changes without one of their own. */
  readonly actor: Actor;
  /** Turns of imports: together they write one part of a list at a time, with a pause before it. */
  readonly importTurns: Pick<Turns, 'next'>;
  close(): Promise<void>;
};

/** The author of a change, and its origin. */
export type Actor = {
  /** A key's id, or the operator (command line, first start). */
  readonly name: string;
  /** An address, or user and machine; empty when unknown. */
  readonly from: string;
};
export const operator: Actor = { name: 'operator', from: '' };

/** The channel on which the projector is woken; a lost notification costs one poll interval. */
export const outboxChannel = 'heliograph_outbox';

/** Opens no connection yet: the pool connects on demand, and again after the database was unavailable. */
export function openStore(
  databaseUrl: string,
  clock: Clock = systemClock,
  { actor = operator, poolMax = limits.store.poolMax }: { actor?: Actor; poolMax?: number } = {},
): Store {
  const db = new Kysely<Tables>({ dialect: dialectOf(databaseUrl, { poolMax }) });
  const importTurns = new Turns(() => clock.sleep(limits.suppression.importPauseMs));
  return { db, clock, actor, importTurns, close: () => db.destroy() };
}

type Change = {
  /** Null: the whole installation. */
  readonly accountId: AccountId | null;
  readonly actor: Actor;
  readonly action: AuditAction;
  readonly target: string;
  readonly detail?: Record<string, unknown>;
  /** The directory entries that may have changed; null when the directory does not contain the changed thing. */
  readonly outbox: OutboxEntry | readonly OutboxEntry[] | null;
};

export type OutboxEntry = { readonly entity: OutboxTable['entity']; readonly entityId: string };

/** Runs `work` in a transaction. */
export function transaction<T>(store: Store, work: (tx: Transaction<Tables>) => Promise<T>): Promise<T> {
  return store.db.transaction().execute(work);
}

/** Records a change as the last step of its transaction: outbox row, wake-up (sent at commit), audit record. */
export async function record(store: Store, tx: Transaction<Tables>, change: Change): Promise<void> {
  await project(tx, [change.outbox ?? []].flat());
  const { accountId, action, target, detail = {} } = change;
  const { name: actor, from: origin } = change.actor;
  await appendAudit(tx, store.clock, [
    { atMs: null, accountId, actor, origin, action, target, detail, recordId: null },
  ]);
}

/** Has entries of the directory projected again: outbox rows, and the wake-up. `record` does it for changes of tenants. */
export async function project(tx: Transaction<Tables>, entries: readonly OutboxEntry[]): Promise<void> {
  if (entries.length === 0) return;
  const rows = entries.map(({ entity, entityId }) => ({ entity, entity_id: entityId }));
  await tx.insertInto('outbox').values(rows).execute();
  await sql`select pg_notify(${outboxChannel}, '')`.execute(tx);
}

/** Without the fields that are undefined: those are not to be changed. */
export function given<T extends object>(fields: T): { [Name in keyof T]?: Exclude<T[Name], undefined> } {
  return Object.fromEntries(Object.entries(fields).filter(([, value]) => value !== undefined)) as never;
}

/** The old and new value of each changed field. */
export function changesOf<T extends object>(before: T, after: T): { [name: string]: { from: unknown; to: unknown } } {
  const names = Object.keys(after) as (keyof T & string)[];
  return Object.fromEntries(
    names
      .filter((name) => !isDeepStrictEqual(before[name], after[name]))
      .map((name) => [name, { from: before[name] ?? null, to: after[name] ?? null }]),
  );
}

/** Serialises changes of one account; false when the account does not exist. */
export async function lockAccount(tx: Transaction<Tables>, accountId: AccountId): Promise<boolean> {
  const row = await tx.selectFrom('accounts').select('id').where('id', '=', accountId).forUpdate().executeTakeFirst();
  return row !== undefined;
}

/** The name of this database, independent of its address. Two databases with one name are copies of each other. */
export async function installationId(store: Store): Promise<string> {
  const { id } = await store.db.selectFrom('installation').select('id').executeTakeFirstOrThrow();
  return id;
}

/** The same; null for a database that no control role has used. */
export async function installationIdOrNull(store: Store): Promise<string | null> {
  try {
    return await installationId(store);
  } catch (error) {
    if (!hasSqlState(error, 'undefinedTable')) throw error;
    ignoring(error, 'the database has not been migrated yet');
    return null;
  }
}

/** The file with the name of the database this machine used last, for the doctor while that database does not run. */
export const databaseNameFile = (dataDir: string) => join(dataDir, 'database-name');
