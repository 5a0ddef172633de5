// The door to the control-plane database. Every change of a tenant goes through `change`, which writes the
// audit record and the outbox row in the same transaction, so that the directory cannot miss it whatever dies.
// The hot path never comes here: it reads the directory.
import { Kysely, type Transaction, sql } from 'kysely';
import type { AccountId } from '../../model/ids.ts';
import { type Clock, systemClock } from '../../platform/clock.ts';
import type { AuditAction } from './audit-actions.ts';
import { dialectOf } from './connection.ts';
import type { OutboxTable, Tables } from './schema.ts';

export type Store = {
  readonly db: Kysely<Tables>;
  readonly clock: Clock;
  close(): Promise<void>;
};

/** Who asks for a change: a key's id, or the operator (CLI, first start). */
export type Actor = string;
export const operator: Actor = 'operator';

/** The channel on which the projector is woken; a lost notification costs one poll interval. */
export const outboxChannel = 'heliograph_outbox';

/** Opens nothing yet: connections are made when they are needed, and again after the database was away. */
export function openStore(databaseUrl: string, clock: Clock = systemClock): Store {
  const db = new Kysely<Tables>({ dialect: dialectOf(databaseUrl) });
  return { db, clock, close: () => db.destroy() };
}

export type Change = {
  readonly accountId: AccountId;
  readonly actor: Actor;
  readonly action: AuditAction;
  readonly target: string;
  readonly detail?: Record<string, unknown>;
  /** What the directory must look at again; null when it does not know the thing that changed. */
  readonly tell: Telling | readonly Telling[] | null;
};

export type Telling = { readonly entity: OutboxTable['entity']; readonly entityId: string };

/** Runs `work` in a transaction. */
export function transaction<T>(store: Store, work: (tx: Transaction<Tables>) => Promise<T>): Promise<T> {
  return store.db.transaction().execute(work);
}

/** Records a change inside its transaction: the audit record, the outbox row and the wake-up (sent at commit). */
export async function record(store: Store, tx: Transaction<Tables>, change: Change): Promise<void> {
  await tx
    .insertInto('audit_log')
    .values({
      at: new Date(store.clock.nowMs()),
      account_id: change.accountId,
      actor: change.actor,
      action: change.action,
      target: change.target,
      detail: JSON.stringify(change.detail ?? {}),
    })
    .execute();
  if (change.tell === null) return;
  const rows = [change.tell].flat().map(({ entity, entityId }) => ({ entity, entity_id: entityId }));
  if (rows.length === 0) return;
  await tx.insertInto('outbox').values(rows).execute();
  await sql`select pg_notify(${outboxChannel}, '')`.execute(tx);
}

/** Keeps two changes of one account apart, and says whether the account exists. */
export async function lockAccount(tx: Transaction<Tables>, accountId: AccountId): Promise<boolean> {
  const row = await tx.selectFrom('accounts').select('id').where('id', '=', accountId).forUpdate().executeTakeFirst();
  return row !== undefined;
}
