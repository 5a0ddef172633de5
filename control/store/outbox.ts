// The outbox: which entries of the directory may have changed since it was written.
import type { OutboxTable } from './schema.ts';
import type { Store } from './store.ts';

export type OutboxRow = { readonly id: number; readonly entity: OutboxTable['entity']; readonly entity_id: string };

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

/** Of the entities of these rows, the oldest ones, those with a row after them. */
export async function changedLater(store: Store, rows: readonly OutboxRow[]): Promise<ReadonlySet<string>> {
  const last = rows.at(-1);
  if (last === undefined) return new Set();
  const entities = [...new Set(rows.map((row) => row.entity_id))];
  const later = await store.db
    .selectFrom('outbox')
    .select('entity_id')
    .where('entity', '=', last.entity)
    .where('id', '>', last.id)
    .where('entity_id', 'in', entities)
    .execute();
  return new Set(later.map((row) => row.entity_id));
}

/** Call it only after the directory contains the changes of these rows. */
export async function deleteOutbox(store: Store, rows: readonly OutboxRow[]): Promise<void> {
  const ids = rows.map(({ id }) => id);
  if (ids.length > 0) await store.db.deleteFrom('outbox').where('id', 'in', ids).execute();
}

/** The name of the entry in its bucket. */
export function entryNameOf({ entity, entity_id: id }: OutboxRow): string {
  return `${entity === 'suppression' ? 'block' : entity}.${id}`;
}
