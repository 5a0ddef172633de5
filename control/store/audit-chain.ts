// The only code that appends to the audit log: rows are numbered and chained by their hashes, in the transaction of the
// change they record. Writers are serialised by the lock on the chain's one row until the end of their transaction;
// their NOTIFY serialises them at the commit anyway, so it costs no throughput. Call it last in a transaction: the
// holder of this lock must not wait for another lock. A row's SHA-256 is over the hash of the row before and a canonical
// text of its own, which is the same for a row to be written and for the row that PostgreSQL returns.
import { type Transaction, sql } from 'kysely';
import type { AccountId } from '../../model/ids.ts';
import type { Clock } from '../../platform/clock.ts';
import type { AuditAction } from './audit-actions.ts';
import { snakeFields } from '../../platform/letter-case.ts';
import type { Tables } from './schema.ts';
import { createHash } from 'node:crypto';

export type AuditEntry = {
  /** When it happened; null: now. */
  readonly atMs: number | null;
  readonly accountId: AccountId | null;
  readonly actor: string;
  readonly origin: string;
  readonly action: AuditAction;
  readonly target: string;
  readonly detail: Readonly<Record<string, unknown>>;
  /** Deduplicates records that may be written more than once; null for others. */
  readonly recordId: string | null;
};

export async function appendAudit(
  tx: Transaction<Tables>,
  clock: Clock,
  entries: readonly AuditEntry[],
): Promise<void> {
  if (entries.length === 0) return;
  const head = await tx.selectFrom('audit_chain').selectAll().forUpdate().executeTakeFirstOrThrow();
  const fresh = await withoutKnown(tx, entries);
  if (fresh.length === 0) return;
  const nowMs = clock.nowMs();
  // Never before the previous row, so that a partition holds a contiguous part of the chain.
  const recordedAtMs = Math.max(nowMs, head.recorded_at.getTime());
  const month = monthOf(recordedAtMs);
  if (month !== head.month) await sql`select ensure_audit_partition(${month})`.execute(tx);
  let { seq, hash } = head;
  const rows = fresh.map((entry) => {
    seq += 1;
    const atMs = entry.atMs ?? nowMs;
    const prev_hash = hash;
    hash = auditHash(prev_hash, { ...entry, seq, recordedAtMs, atMs });
    const columns = snakeFields({ ...entry, recordedAtMs, atMs });
    return { ...columns, id: seq, detail: JSON.stringify(entry.detail), prev_hash, hash };
  });
  await tx.insertInto('audit_log').values(rows).execute();
  await tx
    .updateTable('audit_chain')
    .set({ seq, hash, recorded_at: new Date(recordedAtMs), month })
    .execute();
}

/** `2026-11`, in UTC. */
const monthOf = (atMs: number): string => new Date(atMs).toISOString().slice(0, 7);

/** Drops entries that are already in the log; under the lock of the chain no other writer can add them meanwhile. */
async function withoutKnown(tx: Transaction<Tables>, entries: readonly AuditEntry[]): Promise<AuditEntry[]> {
  const ids = entries.flatMap(({ recordId }) => recordId ?? []);
  if (ids.length === 0) return [...entries];
  const rows = await tx.selectFrom('audit_log').select('record_id').where('record_id', 'in', ids).execute();
  const known = new Set(rows.map(({ record_id }) => record_id));
  return entries.filter(({ recordId }, at) => {
    const isFirst = recordId === null || entries.findIndex((each) => each.recordId === recordId) === at;
    return isFirst && !known.has(recordId);
  });
}

/** A row without its hashes. Times in whole milliseconds, which PostgreSQL keeps exactly. */
type ChainedFacts = Omit<AuditEntry, 'action' | 'detail'> & {
  /** 1 for the first row, one more for each. */
  readonly seq: number;
  readonly recordedAtMs: number;
  readonly atMs: number;
  readonly action: string;
  readonly detail: unknown;
};

/** The hash before the first row. */
export const genesisHash = Buffer.alloc(32);

export function auditHash(before: Uint8Array, facts: ChainedFacts): Buffer {
  return createHash('sha256').update(before).update(canonicalText(facts)).digest();
}

/** A list, so that values cannot be confused; its first element is the version of this form. */
function canonicalText(facts: ChainedFacts): string {
  const { seq, recordedAtMs, atMs, accountId, actor, origin, action, target, recordId, detail } = facts;
  const plain = ['v1', seq, recordedAtMs, atMs, accountId, actor, origin, action, target, recordId];
  return JSON.stringify([...plain, sorted(JSON.parse(JSON.stringify(detail)))]);
}

/** Sorts keys, because jsonb does not keep their order. */
function sorted(value: unknown): unknown {
  if (Array.isArray(value)) return value.map(sorted);
  if (typeof value !== 'object' || value === null) return value;
  const entries = Object.entries(value).sort(([a], [b]) => (a < b ? -1 : 1));
  return Object.fromEntries(entries.map(([name, inside]) => [name, sorted(inside)]));
}
