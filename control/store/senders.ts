// Senders of accounts. A client's request is `pending` until the operator approves it; only approved senders reach
// the directory and the gates.
import { type AccountId, type SenderId, newSenderId } from '../../model/ids.ts';
import { senderKindOf } from '../../model/sender.ts';
import { senderLikeness } from '../../model/sender-likeness.ts';
import type { Category } from '../../model/message.ts';
import { limits } from '../../platform/limits.ts';
import type { AuditAction } from './audit-actions.ts';
import { type Page, type PageRequest, readPage } from './page.ts';
import { type CamelFields, snakeFields, camelFields } from '../../platform/letter-case.ts';
import type { SenderStatus, SendersTable } from './schema.ts';
import { type Actor, type Store, changeOfRow, changesOf, lockAccount, record, transaction } from './store.ts';

export type StoredSender = CamelFields<SendersTable>;

type SenderRefusal = {
  readonly ok: false;
  readonly code: 'account_not_found' | 'invalid_sender' | 'sender_exists' | 'too_many_senders';
};

export async function createSender(
  store: Store,
  desired: { accountId: AccountId; name: string; status: SenderStatus; actor?: Actor },
): Promise<{ readonly ok: true; readonly sender: StoredSender } | SenderRefusal> {
  const { accountId, name, status, actor = store.actor } = desired;
  const kind = senderKindOf(name);
  if (kind === null) return { ok: false, code: 'invalid_sender' };
  return transaction(store, async (tx) => {
    if (!(await lockAccount(tx, accountId))) return { ok: false, code: 'account_not_found' };
    const existing = await tx.selectFrom('senders').select('name').where('account_id', '=', accountId).execute();
    if (existing.some((sender) => sender.name === name)) return { ok: false, code: 'sender_exists' };
    if (existing.length >= limits.store.sendersPerAccountMax) return { ok: false, code: 'too_many_senders' };
    const nowMs = store.clock.nowMs();
    const row = await tx
      .insertInto('senders')
      .values(
        snakeFields({ id: newSenderId(nowMs), accountId, name, kind, status, createdAtMs: nowMs, categories: null }),
      )
      .returningAll()
      .executeTakeFirstOrThrow();
    await record(store, tx, { ...changeOf(row, actor, 'sender.created'), detail: { name, status } });
    return { ok: true, sender: camelFields(row) };
  });
}

/** The operator's decision about a sender, for some categories or (null) for all. Null when there is no such sender. */
export async function setSenderStatus(
  store: Store,
  id: SenderId,
  status: SenderStatus,
  actor: Actor = store.actor,
  categories: readonly Category[] | null = null,
): Promise<StoredSender | null> {
  return transaction(store, async (tx) => {
    const before = await tx
      .selectFrom('senders')
      .select(['status', 'categories'])
      .where('id', '=', id)
      .forUpdate()
      .executeTakeFirst();
    if (before === undefined) return null;
    const row = await tx
      .updateTable('senders')
      .set({ status, categories })
      .where('id', '=', id)
      .returningAll()
      .executeTakeFirstOrThrow();
    const detail = { name: row.name, ...changesOf(before, { status, categories }) };
    await record(store, tx, { ...changeOf(row, actor, `sender.${status}`), detail });
    return camelFields(row);
  });
}

/** False when the account has no such sender. */
export async function deleteSender(
  store: Store,
  id: SenderId,
  { accountId, actor = store.actor }: { accountId: AccountId; actor?: Actor },
): Promise<boolean> {
  return transaction(store, async (tx) => {
    const row = await tx
      .deleteFrom('senders')
      .where('id', '=', id)
      .where('account_id', '=', accountId)
      .returningAll()
      .executeTakeFirst();
    if (row === undefined) return false;
    await record(store, tx, { ...changeOf(row, actor, 'sender.deleted'), detail: { name: row.name } });
    return true;
  });
}

/** `of` 'all': of every account, for the operator. */
export async function listSenders(
  store: Store,
  of: AccountId | 'all',
  page: PageRequest,
  status?: SenderStatus,
): Promise<Page<StoredSender>> {
  let query = store.db.selectFrom('senders').selectAll();
  if (of !== 'all') query = query.where('account_id', '=', of);
  if (status !== undefined) query = query.where('status', '=', status);
  return readPage(query, page, camelFields);
}

export type LikeSender = Pick<StoredSender, 'accountId' | 'name' | 'status'>;

/** Senders by likeness, approved and pending ones of all accounts. For the operator. */
export async function senderLikenesses(
  store: Store,
  senders: readonly Pick<StoredSender, 'accountId' | 'name'>[],
): Promise<ReadonlyMap<string, readonly LikeSender[]>> {
  const asked = new Set(senders.map(({ name }) => senderLikeness(name)));
  const rows = await store.db
    .selectFrom('senders')
    .select(['account_id', 'name', 'status'])
    .where('status', '<>', 'rejected')
    .execute();
  const found = new Map<string, LikeSender[]>();
  for (const row of rows) {
    const likeness = senderLikeness(row.name);
    if (asked.has(likeness)) found.set(likeness, [...(found.get(likeness) ?? []), camelFields(row)]);
  }
  return found;
}

// The directory keeps the approved names in the account's entry.
const changeOf = (row: SendersTable, actor: Actor, action: AuditAction) =>
  changeOfRow(row, actor, action, { entity: 'account', entityId: row.account_id });
