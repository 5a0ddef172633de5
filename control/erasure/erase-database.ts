// Removes a subscriber's number from PostgreSQL. Who is suppressed stays so: in an account's list, and in what is kept of
// decisions by keyword, a key made from the keyed hash takes the number's place (model/number-hash.ts), which entry
// points and carriers compare with the hash of a recipient.
import { type Transaction, sql } from 'kysely';
import type { Counts, Erasure } from '../../cluster/bus/erasures.ts';
import type { AccountId } from '../../model/ids.ts';
import { type NumberHashes, erasedKeysFrom } from '../../model/number-hash.ts';
import { suppressionPlaceOf } from '../../model/suppression.ts';
import type { Tables } from '../store/schema.ts';
import { type Store, project, transaction } from '../store/store.ts';
import { type ListState, lockedList, touch } from '../store/suppressions.ts';

export async function eraseFromDatabase(store: Store, numbers: NumberHashes, erasure: Erasure): Promise<Counts> {
  const { place, accountId, atMs } = erasure;
  const isOurs = (number: number) => numbers.of(`+${number}`) === erasure.hash;
  const until = new Date(atMs);
  const ofAccount = accountId === null ? {} : { account_id: accountId as AccountId };
  const listed = store.db
    .selectFrom('suppressions')
    .select(['account_id', 'number'])
    .distinct()
    .where('place', '=', place)
    .where('number', '<', erasedKeysFrom)
    .where('created_at', '<=', until)
    .where((eb) => eb.and(ofAccount));
  const decided = store.db
    .selectFrom('subscriber_decisions')
    .select(['account_id', 'number'])
    .distinct()
    .where('number', '<', erasedKeysFrom)
    .where('at_ms', '<=', Math.floor(atMs))
    .where((eb) => eb.and(ofAccount));
  const found = [...(await listed.execute()), ...(await decided.execute())].filter(({ number }) => isOurs(number));
  const accounts = new Map(found.map(({ account_id, number }) => [account_id, number]));
  let suppressions = 0;
  let decisions = 0;
  for (const [account, number] of accounts) {
    const counts = await transaction(store, (tx) => replaceIn(tx, account, number, erasure));
    suppressions += counts.suppressions;
    decisions += counts.decisions;
  }
  const { id, hash, listKey, by } = erasure;
  const mark = JSON.stringify({ id, hash, listKey, place, accountId, atMs, by });
  await sql`insert into erasures (id, mark) values (${id}, ${mark}::jsonb) on conflict (id) do nothing`.execute(
    store.db,
  );
  return { suppressions, decisions };
}

async function replaceIn(
  tx: Transaction<Tables>,
  accountId: AccountId,
  number: number,
  { listKey }: Erasure,
): Promise<{ readonly suppressions: number; readonly decisions: number }> {
  const list = (await lockedList(tx, accountId)) as ListState;
  const place = suppressionPlaceOf(listKey);
  // An earlier erasure may have left the same entry.
  const { rows: moved } = await sql`
    update suppressions set number = ${listKey}, place = ${place}
    where account_id = ${accountId} and number = ${number} and not exists (
      select from suppressions other where other.account_id = suppressions.account_id and other.number = ${listKey}
        and other.sender = suppressions.sender and other.category = suppressions.category)
    returning id`.execute(tx);
  const gone = await tx
    .deleteFrom('suppressions')
    .where('account_id', '=', accountId)
    .where('number', '=', number)
    .executeTakeFirst();
  await sql`
    insert into subscriber_decisions (account_id, number, sender, keyword, at_ms, message_id)
    select account_id, ${listKey}, sender, keyword, at_ms, ''
    from subscriber_decisions where account_id = ${accountId} and number = ${number}
    on conflict (account_id, number, sender) do update
      set keyword = excluded.keyword, at_ms = excluded.at_ms`.execute(tx);
  const decided = await tx
    .deleteFrom('subscriber_decisions')
    .where('account_id', '=', accountId)
    .where('number', '=', number)
    .executeTakeFirst();
  const doubled = Number(gone.numDeletedRows);
  const places = [suppressionPlaceOf(number), place];
  const suppressions = moved.length + doubled;
  if (suppressions > 0) await project(tx, await touch(tx, accountId, list, places, -doubled));
  return { suppressions, decisions: Number(decided.numDeletedRows) };
}

/** What this database has carried out. */
export async function erasuresInDatabase(store: Store): Promise<readonly Erasure[]> {
  const rows = await store.db.selectFrom('erasures').select('mark').orderBy('id').execute();
  return rows.map(({ mark }) => mark as unknown as Erasure);
}
