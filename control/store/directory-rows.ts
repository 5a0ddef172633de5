// Reads the rows that the directory is projected from, and the outbox, which names changed entries. The shape of an
// entry is defined in directory/.
import { type Kysely, type Transaction, sql } from 'kysely';
import type { Scope } from '../../model/api-key.ts';
import type { AccountId, ApiKeyId, TemplateId } from '../../model/ids.ts';
import type { Category } from '../../model/message.ts';
import type { StoredVariable } from './templates.ts';
import type { AccountStatus, OutboxTable, Tables } from './schema.ts';
import type { Store } from './store.ts';

export type AccountRow = {
  readonly id: AccountId;
  readonly name: string;
  readonly status: AccountStatus;
  /** Names of the approved senders. */
  readonly senders: readonly string[];
  /** Those approved for some categories only. */
  readonly sender_categories: Readonly<Record<string, readonly Category[]>> | null;
  readonly ip_allowlist: readonly string[];
  readonly rate_per_second: number | null;
  readonly rate_burst: number | null;
  readonly idempotency_keys_per_hour: number | null;
  readonly require_template: readonly Category[];
  readonly content_words: readonly string[];
  readonly links_denied: readonly string[];
  readonly links_allowed: readonly string[];
  readonly resend_unknown: readonly Category[];
  readonly keep_inbound_text: boolean;
  readonly help_text: string | null;
  readonly weight: number;
};

/** An approved template. */
export type TemplateRow = {
  readonly id: TemplateId;
  readonly account_id: AccountId;
  readonly category: Category;
  readonly body: string;
  readonly variables: readonly StoredVariable[];
};

export type KeyRow = {
  readonly id: ApiKeyId;
  readonly account_id: AccountId;
  readonly public_id: string;
  readonly secret_hash: Buffer;
  readonly livemode: boolean;
  readonly scopes: readonly Scope[];
  readonly expires_at: Date | null;
  readonly ip_allowlist: readonly string[];
  readonly rate_per_second: number | null;
  readonly rate_burst: number | null;
};

export type OutboxRow = { readonly id: number; readonly entity: OutboxTable['entity']; readonly entity_id: string };

type Reader = Kysely<Tables> | Transaction<Tables>;

/** The oldest changes not projected yet. `tenants`: all but suppressed numbers, which would delay a revocation. */
export async function readOutbox(
  store: Store,
  limit: number,
  of: 'all' | 'tenants' | 'suppressions' = 'all',
): Promise<OutboxRow[]> {
  let query = store.db.selectFrom('outbox').select(['id', 'entity', 'entity_id']).orderBy('id').limit(limit);
  if (of !== 'all') query = query.where('entity', of === 'tenants' ? '<>' : '=', 'suppression');
  return query.execute();
}

/** Call it only after the directory contains the changes of these rows. */
export async function deleteOutbox(store: Store, ids: readonly number[]): Promise<void> {
  if (ids.length > 0)
    await store.db
      .deleteFrom('outbox')
      .where('id', 'in', [...ids])
      .execute();
}

/** Accounts now; one missing in the result does not exist. */
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
      'accounts.ip_allowlist',
      'accounts.rate_per_second',
      'accounts.rate_burst',
      'accounts.idempotency_keys_per_hour',
      'accounts.require_template',
      'accounts.content_words',
      'accounts.links_denied',
      'accounts.links_allowed',
      'accounts.resend_unknown',
      'accounts.keep_inbound_text',
      'accounts.help_text',
      'accounts.weight',
      sql<string[]>`coalesce(array_agg(senders.name) filter (where senders.name is not null), '{}')`.as('senders'),
      sql<Record<string, Category[]> | null>`jsonb_object_agg(senders.name, to_jsonb(senders.categories))
        filter (where senders.categories is not null)`.as('sender_categories'),
    ]);
  if (ids !== 'all') query = query.where('accounts.id', 'in', ids as AccountId[]);
  return query.execute();
}

/** Keys that are not revoked. Expired ones are included: the reader of the directory checks the time. */
export async function readKeyRows(reader: Reader, publicIds: readonly string[] | 'all'): Promise<KeyRow[]> {
  if (publicIds !== 'all' && publicIds.length === 0) return [];
  let query = reader
    .selectFrom('api_keys')
    .select(['id', 'account_id', 'public_id', 'secret_hash', 'livemode', 'scopes', 'expires_at'])
    .select(['ip_allowlist', 'rate_per_second', 'rate_burst'])
    .where('revoked_at', 'is', null);
  if (publicIds !== 'all') query = query.where('public_id', 'in', [...publicIds]);
  return query.execute();
}

/** Approved templates. `ids` are of the templates, without their account. */
export async function readTemplateRows(reader: Reader, ids: readonly string[] | 'all'): Promise<TemplateRow[]> {
  if (ids !== 'all' && ids.length === 0) return [];
  let query = reader
    .selectFrom('templates')
    .select(['id', 'account_id', 'category', 'body', 'variables'])
    .where('status', '=', 'approved');
  if (ids !== 'all') query = query.where('id', 'in', ids as TemplateId[]);
  return (await query.execute()) as TemplateRow[];
}

/** All accounts, keys and approved templates in one snapshot. */
export async function readTenants(
  store: Store,
): Promise<{ accounts: AccountRow[]; keys: KeyRow[]; templates: TemplateRow[] }> {
  return store.db
    .transaction()
    .setIsolationLevel('repeatable read')
    .execute(async (tx) => ({
      accounts: await readAccountRows(tx, 'all'),
      keys: await readKeyRows(tx, 'all'),
      templates: await readTemplateRows(tx, 'all'),
    }));
}
