// What the directory should say, read from the tables: the wanted side of the projection. And the outbox: which
// entries may say something else. Plain rows; the shape of an entry is the directory's business.
import { type Kysely, type Transaction, sql } from 'kysely';
import type { Scope } from '../../model/api-key.ts';
import type { AccountId, ApiKeyId } from '../../model/ids.ts';
import type { AccountStatus, OutboxTable, Tables } from './schema.ts';
import type { Store } from './store.ts';

export type AccountRow = {
  readonly id: AccountId;
  readonly name: string;
  readonly status: AccountStatus;
  /** Names of the approved senders. */
  readonly senders: readonly string[];
};

export type KeyRow = {
  readonly id: ApiKeyId;
  readonly account_id: AccountId;
  readonly public_id: string;
  readonly secret_hash: Buffer;
  readonly livemode: boolean;
  readonly scopes: readonly Scope[];
  readonly expires_at: Date | null;
};

export type OutboxRow = { readonly id: number; readonly entity: OutboxTable['entity']; readonly entity_id: string };

type Reader = Kysely<Tables> | Transaction<Tables>;

/** The oldest changes the directory may not know yet. */
export async function readOutbox(store: Store, limit: number): Promise<OutboxRow[]> {
  return store.db.selectFrom('outbox').select(['id', 'entity', 'entity_id']).orderBy('id').limit(limit).execute();
}

/** Call only after the directory holds what these rows asked for. */
export async function deleteOutbox(store: Store, ids: readonly number[]): Promise<void> {
  if (ids.length > 0)
    await store.db
      .deleteFrom('outbox')
      .where('id', 'in', [...ids])
      .execute();
}

/** Accounts as they are now; one that is not in the answer does not exist. */
export async function readAccountRows(reader: Reader, ids: readonly string[] | 'all'): Promise<AccountRow[]> {
  if (ids !== 'all' && ids.length === 0) return [];
  let query = reader
    .selectFrom('accounts')
    .leftJoin('senders', (join) =>
      join.onRef('senders.account_id', '=', 'accounts.id').on('senders.status', '=', 'approved'),
    )
    .groupBy('accounts.id')
    .select([
      'accounts.id',
      'accounts.name',
      'accounts.status',
      sql<string[]>`coalesce(array_agg(senders.name) filter (where senders.name is not null), '{}')`.as('senders'),
    ]);
  if (ids !== 'all') query = query.where('accounts.id', 'in', ids as AccountId[]);
  return query.execute();
}

/** Keys that are not revoked. Expired ones stay: the reader of the directory looks at the time itself. */
export async function readKeyRows(reader: Reader, publicIds: readonly string[] | 'all'): Promise<KeyRow[]> {
  if (publicIds !== 'all' && publicIds.length === 0) return [];
  let query = reader
    .selectFrom('api_keys')
    .select(['id', 'account_id', 'public_id', 'secret_hash', 'livemode', 'scopes', 'expires_at'])
    .where('revoked_at', 'is', null);
  if (publicIds !== 'all') query = query.where('public_id', 'in', [...publicIds]);
  return query.execute();
}

/** All accounts and keys as of one moment. */
export async function readTenants(store: Store): Promise<{ accounts: AccountRow[]; keys: KeyRow[] }> {
  return store.db
    .transaction()
    .setIsolationLevel('repeatable read')
    .execute(async (tx) => ({ accounts: await readAccountRows(tx, 'all'), keys: await readKeyRows(tx, 'all') }));
}
