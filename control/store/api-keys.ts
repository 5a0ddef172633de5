// API keys in the database. createKey returns the whole key once; only its public id and the hash of its secret are
// stored. The row of a revoked key is kept for a while; the key is never valid again.
import { type Selectable, type Transaction, sql } from 'kysely';
import { type Scope, newApiKey } from '../../model/api-key.ts';
import { type AccountId, type ApiKeyId, newApiKeyId } from '../../model/ids.ts';
import { limits } from '../../platform/limits.ts';
import type { AuditAction } from './audit-actions.ts';
import { type Page, type PageRequest, readPage } from './page.ts';
import type { Rate } from '../../directory/contract.ts';
import { snakeFields, camelFields } from '../../platform/letter-case.ts';
import { rateColumns, rateOf, type ApiKeysTable, type Tables } from './schema.ts';
import { type Actor, type Store, changesOf, given, lockAccount, record, transaction } from './store.ts';

export type StoredApiKey = ReturnType<typeof storedKey>;

export type NewKey = {
  readonly accountId: AccountId;
  readonly livemode: boolean;
  readonly scopes: readonly Scope[];
  readonly description?: string;
  readonly expiresAtMs?: number | null;
  readonly ipAllowlist?: readonly string[];
  readonly rate?: Rate | null;
  readonly actor?: Actor;
};

/** `token` is the whole key: show it once, store it nowhere. */
export async function createKey(store: Store, desired: NewKey) {
  const { accountId, livemode, scopes, description = '', expiresAtMs = null, ipAllowlist = [] } = desired;
  const { actor = store.actor } = desired;
  return transaction(store, async (tx) => {
    if (!(await lockAccount(tx, accountId))) return { ok: false, code: 'account_not_found' } as const;
    const active = await tx
      .selectFrom('api_keys')
      .select((eb) => eb.fn.countAll<number>().as('count'))
      .where('account_id', '=', accountId)
      .where('revoked_at', 'is', null)
      .executeTakeFirstOrThrow();
    if (active.count >= limits.store.keysPerAccountMax) return { ok: false, code: 'too_many_keys' } as const;

    const nowMs = store.clock.nowMs();
    const { publicId, secretHash, token } = newApiKey(livemode);
    const row = await tx
      .insertInto('api_keys')
      .values({
        ...snakeFields({ id: newApiKeyId(nowMs), accountId, publicId, secretHash, livemode, scopes, description }),
        ...snakeFields({ createdAtMs: nowMs, expiresAtMs, revokedAtMs: null, ipAllowlist }),
        ...rateColumns(desired.rate),
      })
      .returningAll()
      .executeTakeFirstOrThrow();
    const detail = { livemode, scopes, ...boundsOf(row) };
    await record(store, tx, { ...changeOf(row, actor, 'api_key.created'), detail });
    return { ok: true, key: storedKey(row), token } as const;
  });
}

/** The actor of a change, and a check of the key within the transaction of the change. */
type KeyAsked<R> = {
  /** Keys of other accounts are not found. */
  readonly accountId?: AccountId;
  readonly actor?: Actor;
  /** Null: no refusal. */
  readonly refuse?: (current: StoredApiKey) => R | null;
};

/** Only callers with `refuse` get refusals. */
type Refused<R> = [R] extends [never] ? never : { readonly refused: R };

/** Null when there is no such key (of this account, when one is given). Revoking twice changes nothing. */
export async function revokeKey<R = never>(
  store: Store,
  id: ApiKeyId,
  asked: KeyAsked<R> = {},
): Promise<StoredApiKey | Refused<R> | null> {
  return withKey(store, id, asked, async (tx, row, actor) => {
    if (row.revoked_at !== null) return storedKey(row);
    const revokedAt = new Date(store.clock.nowMs());
    await tx.updateTable('api_keys').set({ revoked_at: revokedAt }).where('id', '=', id).execute();
    await forgetOldest(tx, row.account_id);
    const detail = { livemode: row.livemode, scopes: row.scopes };
    await record(store, tx, { ...changeOf(row, actor, 'api_key.revoked'), detail });
    return storedKey({ ...row, revoked_at: revokedAt });
  });
}

export async function findKey(store: Store, id: ApiKeyId, accountId: AccountId): Promise<StoredApiKey | null> {
  const row = await store.db
    .selectFrom('api_keys')
    .selectAll()
    .where((eb) => eb.and({ id, account_id: accountId }))
    .executeTakeFirst();
  return row === undefined ? null : storedKey(row);
}

export type KeyChange = Partial<Pick<StoredApiKey, 'description' | 'expiresAtMs' | 'ipAllowlist' | 'rate'>>;

/** Changes the given fields only. Null when there is no such key, or (without `refuse`) it was revoked. */
export async function changeKey<R = never>(
  store: Store,
  id: ApiKeyId,
  change: KeyChange,
  asked: KeyAsked<R> = {},
): Promise<StoredApiKey | Refused<R> | null> {
  const { rate, ...others } = change;
  const columns = given({ ...snakeFields(others), ...(rate === undefined ? {} : rateColumns(rate)) });
  return withKey(store, id, asked, async (tx, before, actor) => {
    if (before.revoked_at !== null) return null;
    if (Object.keys(columns).length === 0) return storedKey(before);
    const row = await tx
      .updateTable('api_keys')
      .set(columns)
      .where('id', '=', id)
      .returningAll()
      .executeTakeFirstOrThrow();
    const detail = changesOf(boundsOf(before), boundsOf(row));
    await record(store, tx, { ...changeOf(row, actor, 'api_key.changed'), detail });
    return storedKey(row);
  });
}

const changeOf = (row: Selectable<ApiKeysTable>, actor: Actor, action: AuditAction) => ({
  accountId: row.account_id,
  actor,
  action,
  target: row.id,
  outbox: { entity: 'key', entityId: row.public_id } as const,
});

/** Keeps an account's newest revoked keys; the audit log has the history of the others. */
async function forgetOldest(tx: Transaction<Tables>, accountId: AccountId): Promise<void> {
  await sql`
    delete from api_keys where id in (
      select id from api_keys where account_id = ${accountId} and revoked_at is not null
      order by revoked_at desc, id desc offset ${limits.store.revokedKeysMax})`.execute(tx);
}

/** The changeable fields of a key, for the audit log. */
function boundsOf(row: Selectable<ApiKeysTable>) {
  return {
    description: row.description,
    expires_at: row.expires_at?.toISOString() ?? null,
    ip_allowlist: row.ip_allowlist,
    rate_limit: rateOf(row),
  };
}

/** Locks the row until the transaction ends, in which `change` runs if the key is there and not refused. */
function withKey<R>(
  store: Store,
  id: ApiKeyId,
  { accountId, actor = store.actor, refuse }: KeyAsked<R>,
  change: (tx: Transaction<Tables>, row: Selectable<ApiKeysTable>, actor: Actor) => Promise<StoredApiKey | null>,
): Promise<StoredApiKey | Refused<R> | null> {
  return transaction(store, async (tx) => {
    let query = tx.selectFrom('api_keys').selectAll().where('id', '=', id).forUpdate();
    if (accountId !== undefined) query = query.where('account_id', '=', accountId);
    const row = await query.executeTakeFirst();
    if (row === undefined) return null;
    const refused = refuse?.(storedKey(row)) ?? null;
    return refused === null ? change(tx, row, actor) : ({ refused } as Refused<R>);
  });
}

export async function listKeys(store: Store, accountId: AccountId, page: PageRequest): Promise<Page<StoredApiKey>> {
  return readPage(store.db.selectFrom('api_keys').selectAll().where('account_id', '=', accountId), page, storedKey);
}

function storedKey(row: Selectable<ApiKeysTable>) {
  const { secretHash: _, ratePerSecond: __, rateBurst: ___, ...key } = camelFields(row);
  return { ...key, rate: rateOf(row) };
}

/** Stores the day of last use; an older day changes nothing. Neither the directory nor the audit log records it. */
export async function noteKeysUsed(store: Store, day: string, ids: readonly ApiKeyId[]): Promise<void> {
  await sql`
    update api_keys set last_used_on = ${day}::date
    where id = any(${ids}::text[]) and (last_used_on is null or last_used_on < ${day}::date)`.execute(store.db);
}
