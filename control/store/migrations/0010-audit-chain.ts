// The audit log becomes a chain of hashes in monthly partitions, which an operator may detach. A function that runs as
// the tables' owner creates partitions, so that writers need no right to create tables. Existing rows become the start
// of the chain.
import { type Kysely, sql } from 'kysely';
import type { Migration } from 'kysely/migration';
import { auditHash, genesisHash } from '../audit-chain.ts';

type Old = {
  id: number;
  at: Date;
  account_id: string | null;
  actor: string;
  action: string;
  target: string;
  detail: unknown;
  record_id: string | null;
  origin: string;
};

const rowsAtOnce = 1_000;

export const auditChain: Migration = {
  async up(db: Kysely<unknown>): Promise<void> {
    await sql`alter table audit_log rename to audit_log_before`.execute(db);
    await sql`
      create table audit_log (
        id bigint not null,
        recorded_at timestamptz not null,
        at timestamptz not null,
        account_id text,
        actor text not null,
        origin text not null,
        action text not null,
        target text not null,
        detail jsonb not null,
        record_id text,
        prev_hash bytea not null check (length(prev_hash) = 32),
        hash bytea not null check (length(hash) = 32),
        primary key (id, recorded_at)
      ) partition by range (recorded_at)`.execute(db);
    await sql`create index audit_log_by_account on audit_log (account_id, id desc)`.execute(db);
    await sql`create index audit_log_by_record on audit_log (record_id) where record_id is not null`.execute(db);
    await sql`
      create trigger audit_log_stays
        before update or delete or truncate on audit_log
        for each statement execute function audit_log_is_append_only()`.execute(db);
    await sql`
      create table audit_chain (
        one boolean primary key default true check (one),
        seq bigint not null,
        hash bytea not null check (length(hash) = 32),
        recorded_at timestamptz not null,
        month text not null
      )`.execute(db);
    // A statement on a partition does not fire the parent table's triggers: each partition gets its own.
    await sql`
      create function ensure_audit_partition(month text) returns void
      language plpgsql security definer set search_path from current as $$
      declare
        partition text := 'audit_log_' || replace(month, '-', '_');
        first timestamptz := (month || '-01 00:00:00+00')::timestamptz;
      begin
        if to_regclass(partition) is not null then return; end if;
        execute format('create table %I partition of audit_log for values from (%L) to (%L)',
          partition, first, (first at time zone 'UTC' + interval '1 month') at time zone 'UTC');
        execute format('create trigger audit_log_stays before update or delete or truncate on %I
          for each statement execute function audit_log_is_append_only()', partition);
      end $$`.execute(db);
    await chainOldRows(db);
    await sql`drop table audit_log_before`.execute(db);
  },
};

async function chainOldRows(db: Kysely<unknown>): Promise<void> {
  let head = { seq: 0, hash: genesisHash as Uint8Array, recordedAtMs: 0, month: '' };
  for (let after = 0; ; ) {
    const { rows } = await sql<Old>`
      select * from audit_log_before where id > ${after} order by id limit ${rowsAtOnce}`.execute(db);
    for (const row of rows) {
      const recordedAtMs = Math.max(row.at.getTime(), head.recordedAtMs);
      const month = new Date(recordedAtMs).toISOString().slice(0, 7);
      if (month !== head.month) await sql`select ensure_audit_partition(${month})`.execute(db);
      const { account_id: accountId, actor, origin, action, target, record_id: recordId, detail } = row;
      const seq = head.seq + 1;
      const atMs = row.at.getTime();
      const facts = { seq, recordedAtMs, atMs, accountId, actor, origin, action, target, recordId, detail };
      const hash = auditHash(head.hash, facts);
      await sql`
        insert into audit_log (id, recorded_at, at, account_id, actor, origin, action, target, detail, record_id, prev_hash, hash)
        values (${seq}, ${new Date(recordedAtMs)}, ${new Date(atMs)}, ${accountId}, ${actor}, ${origin}, ${action},
          ${target}, ${JSON.stringify(detail)}, ${recordId}, ${head.hash}, ${hash})`.execute(db);
      head = { seq, hash, recordedAtMs, month };
    }
    if (rows.length < rowsAtOnce) break;
    after = rows.at(-1)?.id ?? after;
  }
  await sql`
    insert into audit_chain (seq, hash, recorded_at, month)
    values (${head.seq}, ${head.hash}, ${new Date(head.recordedAtMs)}, ${head.month})`.execute(db);
}
