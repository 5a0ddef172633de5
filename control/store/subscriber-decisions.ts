// Stores a subscriber's decision: STOP puts the number on the account's list, START removes what a STOP put there and
// nothing else. The decision with the latest time wins: late, repeated and reordered ones give the same result as in
// order.
import { type Transaction, sql } from 'kysely';
import { newSuppressionId } from '../../model/ids.ts';
import type { SubscriberDecision } from '../../model/subscriber-decision.ts';
import { blockOfPlace, numberKeyOf, suppressionPlaceOf } from '../../model/suppression.ts';
import type { Tables } from './schema.ts';
import { type Store, record, transaction } from './store.ts';
import { type ListState, lockedList, outboxEntryOf, touch } from './suppressions.ts';

/** `block`: the list block of the number, as the outbox names it. Null: there is no such account. */
type Written = { readonly ended: 'written' | 'no_change' | 'stale'; readonly block: string };

const subscriber = { name: 'subscriber', from: '' };

/** `erasedKey`: of the same number, if it was erased (model/number-hash.ts): its START takes that entry away too. */
export async function writeDecision(
  store: Store,
  decision: SubscriberDecision,
  erasedKey: number | null = null,
): Promise<Written | null> {
  const { accountId } = decision;
  const numberKey = numberKeyOf(decision.number);
  const place = suppressionPlaceOf(numberKey);
  return transaction(store, async (tx) => {
    const list = await lockedList(tx, accountId);
    if (list === null) return null;
    const blockIn = ({ suppression_bits: bits }: ListState) =>
      outboxEntryOf(accountId, bits, blockOfPlace(place, bits)).entityId;
    const ended = (how: Written['ended']) => ({ ended: how, block: blockIn(list) });
    if (!(await isLastWord(tx, decision, numberKey))) return ended('stale');
    const keys = erasedKey === null ? [numberKey] : [numberKey, erasedKey];
    const difference =
      decision.keyword === 'stop'
        ? await add(store, tx, decision, numberKey, place)
        : -(await remove(tx, decision, keys));
    if (difference === 0) return ended('no_change');
    const outbox = await touch(tx, accountId, list, keys.map(suppressionPlaceOf), difference);
    await record(store, tx, {
      accountId,
      actor: subscriber,
      action: decision.keyword === 'stop' ? 'suppression.opted_out' : 'suppression.opted_in',
      target: decision.messageId,
      detail: { sender: decision.sender },
      outbox,
    });
    return { ended: 'written', block: blockIn((await lockedList(tx, accountId)) as ListState) };
  });
}

/** Whether the directory has this block. */
export async function isInDirectory(store: Store, block: string): Promise<boolean> {
  const waiting = await store.db
    .selectFrom('outbox')
    .select('id')
    .where((eb) => eb.and({ entity: 'suppression', entity_id: block }))
    .limit(1)
    .executeTakeFirst();
  return waiting === undefined;
}

/** Stores the decision if none is newer. A repeat of the stored one counts: the directory may not have it yet. */
async function isLastWord(tx: Transaction<Tables>, decision: SubscriberDecision, numberKey: number): Promise<boolean> {
  const { accountId, sender, keyword, atMs, messageId } = decision;
  const { rows } = await sql`
    insert into subscriber_decisions (account_id, number, sender, keyword, at_ms, message_id)
    values (${accountId}, ${numberKey}, ${sender ?? ''}, ${keyword}, ${atMs}, ${messageId})
    on conflict (account_id, number, sender) do update
      set keyword = excluded.keyword, at_ms = excluded.at_ms, message_id = excluded.message_id
      where subscriber_decisions.at_ms < excluded.at_ms
        or (subscriber_decisions.at_ms = excluded.at_ms
          and (excluded.keyword = 'stop' or subscriber_decisions.keyword = 'start'))
    returning 1`.execute(tx);
  return rows.length > 0;
}

/** The bound of the list does not apply: it is for the client's entries, and a STOP is never refused. */
async function add(
  store: Store,
  tx: Transaction<Tables>,
  { accountId, sender }: SubscriberDecision,
  numberKey: number,
  place: number,
): Promise<number> {
  const nowMs = store.clock.nowMs();
  const { rows } = await sql`
    insert into suppressions (id, account_id, number, place, sender, category, reason, created_at)
    values (${newSuppressionId(nowMs)}, ${accountId}, ${numberKey}, ${place}, ${sender ?? ''}, '', 'keyword', ${new Date(nowMs)})
    on conflict (account_id, number, sender, category) do nothing
    returning id`.execute(tx);
  return rows.length;
}

async function remove(
  tx: Transaction<Tables>,
  { accountId, sender }: SubscriberDecision,
  numberKeys: readonly number[],
): Promise<number> {
  const gone = await tx
    .deleteFrom('suppressions')
    .where('number', 'in', numberKeys)
    .where((eb) => eb.and({ account_id: accountId, sender: sender ?? '', category: '', reason: 'keyword' }))
    .executeTakeFirst();
  return Number(gone.numDeletedRows);
}
