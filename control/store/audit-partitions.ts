// The monthly partitions of the audit log, and how the operator detaches the oldest. Its table stays in the database
// under its name, to be dumped and dropped; the record of the detaching has its last hash, so that the rest of the
// chain can still be verified.
import { sql } from 'kysely';
import { type Store, record, transaction } from './store.ts';

export type AuditPartition = {
  /** `2026-11` */
  readonly month: string;
  readonly table: string;
  readonly rows: number;
  readonly firstRow: number | null;
  readonly lastRow: number | null;
  readonly bytes: number;
};

export async function auditPartitions(store: Store): Promise<AuditPartition[]> {
  const { rows: tables } = await sql<{ table: string; bytes: number }>`
    select child.relname as table, pg_total_relation_size(child.oid) as bytes
    from pg_inherits join pg_class child on child.oid = inhrelid
    where inhparent = 'audit_log'::regclass order by child.relname`.execute(store.db);
  const partitions: AuditPartition[] = [];
  for (const { table, bytes } of tables) {
    const month = table.slice('audit_log_'.length).replace('_', '-');
    // Through the parent table: only the owner may read a partition by name.
    const { rows } = await sql<{ rows: number; first: number | null; last: number | null }>`
      select count(*) as rows, min(id) as first, max(id) as last from audit_log
      where recorded_at >= ${startOf(month)} and recorded_at < ${startOf(month, 1)}`.execute(store.db);
    const { rows: count = 0, first = null, last = null } = rows[0] ?? {};
    partitions.push({ month, table, rows: count, firstRow: first, lastRow: last, bytes });
  }
  return partitions;
}

function startOf(month: string, monthsLater = 0): Date {
  const [year = 0, number = 0] = month.split('-').map(Number);
  return new Date(Date.UTC(year, number - 1 + monthsLater));
}

/** Detaches the oldest partition, never the current month: the rest stays contiguous. */
export async function detachAuditPartition(store: Store, month: string) {
  const all = await auditPartitions(store);
  const partition = all.find((each) => each.month === month);
  if (partition === undefined) return { ok: false, code: 'no_such_month' } as const;
  if (all[0]?.month !== month) return { ok: false, code: 'not_the_oldest' } as const;
  return transaction(store, async (tx) => {
    const chain = await tx.selectFrom('audit_chain').select('month').forUpdate().executeTakeFirstOrThrow();
    if (chain.month === month) return { ok: false, code: 'still_written' } as const;
    const { table, rows, firstRow, lastRow } = partition;
    const { rows: last } = await sql<{ hash: Buffer }>`
      select hash from ${sql.table(table)} where id = ${lastRow}`.execute(tx);
    await sql`alter table audit_log detach partition ${sql.table(table)}`.execute(tx);
    const hash = last[0]?.hash.toString('hex') ?? null;
    const detail = { rows, first_row: firstRow, last_row: lastRow, last_hash: hash };
    const { actor } = store;
    await record(store, tx, { accountId: null, actor, action: 'audit.detached', target: table, detail, outbox: null });
    return { ok: true, partition } as const;
  });
}
