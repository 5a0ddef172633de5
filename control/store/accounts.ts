// Accounts: created, suspended and activated by the operator only.
import { type AccountId, newAccountId } from '../../model/ids.ts';
import { plainTextProblem } from '../../model/plain-text.ts';
import { type CamelFields, camelFields } from '../../platform/letter-case.ts';
import type { AuditAction } from './audit-actions.ts';
import type { AccountStatus, AccountsTable } from './schema.ts';
import { type Actor, type Store, changesOf, record, transaction } from './store.ts';
import { type Page, type PageRequest, readPage } from './page.ts';

type StoredAccount = CamelFields<Pick<AccountsTable, 'id' | 'name' | 'status' | 'created_at'>>;

/** One line: it is shown in lists and logs. */
const isAccountName = (name: string) => name.length >= 1 && name.length <= 200 && plainTextProblem(name) === null;

export async function createAccount(store: Store, { name, actor = store.actor }: { name: string; actor?: Actor }) {
  const trimmed = name.trim();
  if (!isAccountName(trimmed)) return { ok: false, code: 'invalid_name' } as const;
  const nowMs = store.clock.nowMs();
  const id = newAccountId(nowMs);
  await transaction(store, async (tx) => {
    await tx
      .insertInto('accounts')
      .values({ id, name: trimmed, status: 'active', created_at: new Date(nowMs) })
      .execute();
    await record(store, tx, { ...changeOfAccount(id, actor, 'account.created'), detail: { name: trimmed } });
  });
  return { ok: true, account: { id, name: trimmed, status: 'active', createdAtMs: nowMs } } as const;
}

export async function findAccount(store: Store, id: AccountId): Promise<StoredAccount | null> {
  const row = await store.db.selectFrom('accounts').selectAll().where('id', '=', id).executeTakeFirst();
  return row === undefined ? null : camelFields(row);
}

/** Every account, newest first, a page at a time. */
export async function listAccounts(store: Store, page: PageRequest): Promise<Page<StoredAccount>> {
  return readPage(store.db.selectFrom('accounts').selectAll(), page, camelFields);
}

export async function hasAccounts(store: Store): Promise<boolean> {
  return (await store.db.selectFrom('accounts').select('id').limit(1).executeTakeFirst()) !== undefined;
}

/** False when there is no such account. */
export async function setAccountStatus(
  store: Store,
  id: AccountId,
  status: AccountStatus,
  actor: Actor = store.actor,
): Promise<boolean> {
  return transaction(store, async (tx) => {
    const before = await tx.selectFrom('accounts').select('status').where('id', '=', id).forUpdate().executeTakeFirst();
    if (before === undefined) return false;
    await tx.updateTable('accounts').set({ status }).where('id', '=', id).execute();
    const detail = changesOf(before, { status });
    const action = status === 'active' ? 'account.activated' : 'account.suspended';
    await record(store, tx, { ...changeOfAccount(id, actor, action), detail });
    return true;
  });
}

/** A change of the account itself, for the audit log and the directory. */
export const changeOfAccount = (id: AccountId, actor: Actor, action: AuditAction) => ({
  accountId: id,
  actor,
  action,
  target: id,
  outbox: { entity: 'account', entityId: id } as const,
});
