// Numbers an account must not send to. A change touches only the blocks of its numbers; when a list outgrows its blocks
// it is divided into more in the same transaction, and the directory gets the new blocks before the old ones are
// removed, so that no number is missing in between.
import { type Transaction, sql } from 'kysely';
import { type AccountId, type SuppressionId, newSuppressionId } from '../../model/ids.ts';
import type { Category } from '../../model/message.ts';
import { erasedKeysFrom } from '../../model/number-hash.ts';
import { blockOfPlace, numberKeyOf, suppressionBitsFor, suppressionPlaceOf } from '../../model/suppression.ts';
import { limits } from '../../platform/limits.ts';
import { secretBytes } from '../../platform/random.ts';
import { type Page, type PageRequest, readPage } from './page.ts';
import { camelFields } from '../../platform/letter-case.ts';
import type { SuppressionReason, SuppressionsTable, Tables } from './schema.ts';
import { type Actor, type Store, type OutboxEntry, record, transaction } from './store.ts';

export type StoredSuppression = ReturnType<typeof storedSuppression>;

type NewSuppressions = {
  readonly accountId: AccountId;
  /** E.164, checked by the caller. */
  readonly numbers: readonly string[];
  readonly sender: string | null;
  readonly category: Category | null;
  readonly reason: SuppressionReason;
  readonly actor?: Actor;
};

/** Numbers already listed stay unchanged and are not counted in `added`. */
export async function addSuppressions(store: Store, desired: NewSuppressions) {
  const { accountId, sender, category, reason, actor = store.actor } = desired;
  const numbers = [...new Set(desired.numbers.map(numberKeyOf))];
  return transaction(store, async (tx) => {
    const account = await lockedList(tx, accountId);
    if (account === null) return { ok: false, code: 'account_not_found' } as const;
    if (account.suppressed + numbers.length > limits.suppression.perAccountMax) {
      return { ok: false, code: 'too_many_suppressions' } as const;
    }
    const rows = await insertInParts(store, tx, numbers, desired);
    const added = { ok: true, added: rows.map(storedSuppression) } as const;
    if (rows.length === 0) return added;
    const places = rows.map((row) => row.place);
    const outbox = await touch(tx, accountId, account, places, rows.length);
    await record(store, tx, {
      accountId,
      actor,
      action: 'suppression.added',
      target: accountId,
      detail: { count: rows.length, sender, category, reason },
      outbox,
    });
    return added;
  });
}

/** In parts with pauses: in one statement ten thousand delay other accounts' messages (bench: tenants). */
async function insertInParts(
  store: Store,
  tx: Transaction<Tables>,
  numbers: readonly number[],
  { accountId, sender, category, reason }: NewSuppressions,
): Promise<readonly SuppressionsTable[]> {
  const { importPartMax } = limits.suppression;
  const nowMs = store.clock.nowMs();
  const added: SuppressionsTable[] = [];
  for (let from = 0; from < numbers.length; from += importPartMax) {
    if (from > 0) await store.importTurns.next();
    const part = numbers.slice(from, from + importPartMax);
    const ids = part.map(() => newSuppressionId(nowMs));
    // Arrays: a parameter for each value would exceed PostgreSQL's limit.
    const { rows } = await sql<SuppressionsTable>`
      insert into suppressions (id, account_id, number, place, sender, category, reason, created_at)
      select id, ${accountId}, number, place, ${sender ?? ''}, ${category ?? ''}, ${reason}, ${new Date(nowMs)}
      from unnest(${ids}::text[], ${part}::bigint[], ${part.map(suppressionPlaceOf)}::smallint[])
        as fresh (id, number, place)
      on conflict (account_id, number, sender, category) do nothing
      returning *`.execute(tx);
    added.push(...rows);
  }
  return added;
}

/** Null when the account has no such entry. */
export async function removeSuppression(
  store: Store,
  id: SuppressionId,
  { accountId, actor = store.actor }: { accountId: AccountId; actor?: Actor },
): Promise<StoredSuppression | null> {
  return transaction(store, async (tx) => {
    const account = await lockedList(tx, accountId);
    if (account === null) return null;
    const row = await tx
      .deleteFrom('suppressions')
      .where((eb) => eb.and({ id, account_id: accountId }))
      .returningAll()
      .executeTakeFirst();
    if (row === undefined) return null;
    const outbox = await touch(tx, accountId, account, [row.place], -1);
    await record(store, tx, { accountId, actor, action: 'suppression.removed', target: id, outbox });
    return storedSuppression(row);
  });
}

export async function listSuppressions(
  store: Store,
  accountId: AccountId,
  page: PageRequest,
  number?: string,
): Promise<Page<StoredSuppression>> {
  let query = store.db.selectFrom('suppressions').selectAll().where('account_id', '=', accountId);
  if (number !== undefined) query = query.where('number', '=', numberKeyOf(number));
  return readPage(query, page, storedSuppression);
}

/** The size of an account's list and the bits of its block numbers. */
export type ListState = { readonly suppressed: number; readonly suppression_bits: number };

/** Locks the list: a block's version must not be older than its numbers. */
export async function lockedList(tx: Transaction<Tables>, accountId: AccountId): Promise<ListState | null> {
  const row = await tx
    .selectFrom('accounts')
    .select(['suppressed', 'suppression_bits'])
    .where('id', '=', accountId)
    .forUpdate()
    .executeTakeFirst();
  return row ?? null;
}

/** Gives the changed blocks new versions, or divides the whole list into smaller blocks. Returns the outbox entries. */
export async function touch(
  tx: Transaction<Tables>,
  accountId: AccountId,
  before: ListState,
  places: readonly number[],
  difference: number,
): Promise<OutboxEntry[]> {
  const suppressed = before.suppressed + difference;
  // Never larger blocks: a shrinking list keeps its blocks, so that a block name never gets another meaning.
  const bits = Math.max(before.suppression_bits, suppressionBitsFor(suppressed));
  await tx.updateTable('accounts').set({ suppressed, suppression_bits: bits }).where('id', '=', accountId).execute();
  const isRecut = bits !== before.suppression_bits;
  const blocks = isRecut
    ? Array.from({ length: 1 << bits }, (_, block) => block)
    : [...new Set(places.map((place) => blockOfPlace(place, bits)))];
  await tx
    .insertInto('suppression_blocks')
    .values(blocks.map((block) => ({ account_id: accountId, bits, block, version: newVersion() })))
    .onConflict((conflict) =>
      conflict.columns(['account_id', 'bits', 'block']).doUpdateSet({ version: (eb) => eb.ref('excluded.version') }),
    )
    .execute();
  const entries = blocks.map((block) => outboxEntryOf(accountId, bits, block));
  if (!isRecut) return entries;
  const old = await tx
    .deleteFrom('suppression_blocks')
    .where('account_id', '=', accountId)
    .where('bits', '<>', bits)
    .returning(['bits', 'block'])
    .execute();
  return [...entries, ...old.map((each) => outboxEntryOf(accountId, each.bits, each.block))];
}

/** Random instead of counted: a restored database must not give an old version to new content. */
const newVersion = () => secretBytes(9).toString('base64url');

export const outboxEntryOf = (accountId: AccountId, bits: number, block: number): OutboxEntry => ({
  entity: 'suppression',
  entityId: `${accountId}.${bits}.${block}`,
});

function storedSuppression(row: SuppressionsTable) {
  const { number, sender, category, ...rest } = camelFields(row);
  return {
    ...rest,
    /** E.164; null: it was erased, and stays suppressed by its keyed hash. */
    number: number >= erasedKeysFrom ? null : `+${number}`,
    sender: sender || null,
    category: category || null,
  };
}
