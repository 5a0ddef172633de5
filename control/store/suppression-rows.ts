// The blocks of suppressed numbers as the projection reads them: which blocks exist in which version, and the numbers
// of one block. No query reads a whole list.
import type { BlockName, BlockNumber } from '../../directory/contract.ts';
import { placesOfBlock } from '../../model/suppression.ts';
import type { Store } from './store.ts';

type BlockVersion = BlockName & { readonly version: string };

/** All blocks, at most 256 for an account. */
export async function readBlockVersions(store: Store): Promise<BlockVersion[]> {
  const rows = await store.db.selectFrom('suppression_blocks').selectAll().execute();
  return rows.map(({ account_id: accountId, bits, block, version }) => ({ accountId, bits, block, version }));
}

/** Null when there is no such block (any more). Read the version before the numbers, never after. */
export async function readBlockVersion(store: Store, { accountId, bits, block }: BlockName): Promise<string | null> {
  const row = await store.db
    .selectFrom('suppression_blocks')
    .select('version')
    .where('account_id', '=', accountId)
    .where('bits', '=', bits)
    .where('block', '=', block)
    .executeTakeFirst();
  return row?.version ?? null;
}

export async function readBlockNumbers(store: Store, { accountId, bits, block }: BlockName): Promise<BlockNumber[]> {
  const { from, to } = placesOfBlock(block, bits);
  return store.db
    .selectFrom('suppressions')
    .select(['number', 'sender', 'category'])
    .where('account_id', '=', accountId)
    .where('place', '>=', from)
    .where('place', '<=', to)
    .execute();
}
