// Senders of accounts. A client's request is `pending` until the operator approves it; only approved senders reach
// the directory and the gates.
import { type AccountId, type SenderId, newSenderId } from '../../model/ids.ts';
import { senderKindOf } from '../../model/sender.ts';
import { senderLikeness } from '../../model/sender-likeness.ts';
import type { Category } from '../../model/message.ts';
import { limits } from '../../platform/limits.ts';
import type { PageRequest } from './page.ts';
import { type CamelFields, snakeFields, camelFields } from '../../platform/letter-case.ts';
import type { SenderStatus, SendersTable } from './schema.ts';
import { reviewed } from './reviewed.ts';
import type { Actor, Store } from './store.ts';

export type StoredSender = CamelFields<SendersTable>;

// The directory keeps the approved names in the account's entry.
const senders = reviewed('senders', limits.store.sendersPerAccountMax, (row) => ({
  entity: 'account',
  entityId: row.account_id,
}));

export async function createSender(
  store: Store,
  desired: { accountId: AccountId; name: string; status: SenderStatus; actor?: Actor },
) {
  const { accountId, name, status } = desired;
  const kind = senderKindOf(name);
  if (kind === null) return { ok: false, code: 'invalid_sender' } as const;
  const made = await senders.create(
    store,
    desired,
    (nowMs) =>
      snakeFields({ id: newSenderId(nowMs), accountId, name, kind, status, createdAtMs: nowMs, categories: null }),
    { name, status },
  );
  return made.ok ? ({ ok: true, sender: camelFields(made.row) } as const) : made;
}

/** The operator's decision about a sender, for some categories or (null) for all. Null when there is no such sender. */
export async function setSenderStatus(
  store: Store,
  id: SenderId,
  status: SenderStatus,
  actor?: Actor,
  categories: readonly Category[] | null = null,
): Promise<StoredSender | null> {
  const row = await senders.decide(store, id, { status, categories }, actor);
  return row === null ? null : camelFields(row);
}

export const deleteSender = senders.delete;

export const listSenders = (store: Store, of: AccountId | 'all', page: PageRequest, status?: SenderStatus) =>
  senders.list<StoredSender>(store, of, page, camelFields, status);

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
