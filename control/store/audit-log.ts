// Reads the audit log for operators, and appends operator commands, which are durable on the bus first. A known record
// is not appended again.
import { type Selectable, sql } from 'kysely';
import type { AuditLogTable } from './schema.ts';
import { type AuditEntry, appendAudit } from './audit-chain.ts';
import { type Store, transaction } from './store.ts';

/** A record without account. Its id is the same at every attempt. */
export type NewAuditRecord = Omit<AuditEntry, 'accountId'> & { readonly recordId: string; readonly atMs: number };

/** `row` increases with every record and is the cursor of pages. */
export type AuditRecord = Omit<AuditEntry, 'recordId' | 'action'> & {
  readonly row: number;
  readonly atMs: number;
  /** Perhaps of another version. */
  readonly action: string;
};

/** The record as the API and `audit --json` give it. */
export const auditRecordJson = ({ atMs, actor, origin, action, target, accountId, detail }: AuditRecord) => ({
  object: 'audit_record',
  at: new Date(atMs).toISOString(),
  actor,
  from: origin,
  action,
  target,
  account: accountId,
  detail,
});

export async function addAuditRecords(store: Store, records: readonly NewAuditRecord[]): Promise<void> {
  const entries = records.map((each) => ({ ...each, accountId: null }));
  await transaction(store, (tx) => appendAudit(tx, store.clock, entries));
}

type AuditQuery = {
  readonly limit: number;
  /** The row after which the page starts, newest first; null for the first page. */
  readonly after: number | null;
  /** The changed thing and what belongs to it: with a carrier its binds. */
  readonly target?: string | undefined;
  readonly action?: string | undefined;
};

export async function listAuditRecords(
  store: Store,
  { limit, after, target, action }: AuditQuery,
): Promise<{ readonly items: readonly AuditRecord[]; readonly next: number | null }> {
  let query = store.db
    .selectFrom('audit_log')
    .selectAll()
    .orderBy('id', 'desc')
    .limit(limit + 1);
  if (after !== null) query = query.where('id', '<', after);
  if (target !== undefined) {
    query = query.where(sql<boolean>`(target = ${target} or starts_with(target, ${`${target}/`}))`);
  }
  if (action !== undefined) query = query.where('action', '=', action);
  const rows = await query.execute();
  const items = rows.slice(0, limit).map(recordOf);
  return { items, next: rows.length > limit ? (items.at(-1)?.row ?? null) : null };
}

function recordOf({ id, at, account_id: accountId, actor, origin, action, target, detail }: Selectable<AuditLogTable>) {
  const facts = { accountId, actor, origin, action, target, detail: detail as unknown as AuditRecord['detail'] };
  return { row: Number(id), atMs: at.getTime(), ...facts };
}
