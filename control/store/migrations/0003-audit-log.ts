// The audit log: a chain of hashes in monthly partitions, which an operator may detach; append-only for the application
// role. A function that runs as the tables' owner creates partitions, so that writers need no right to create tables: it
// searches one schema only, accepts only a month, and only granted roles may execute it.
import { type Kysely, sql } from 'kysely';
import type { Migration } from 'kysely/migration';
import { genesisHash } from '../audit-chain.ts';

export const auditLog: Migration = {
  async up(db: Kysely<unknown>): Promise<void> {
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
      create function audit_log_is_append_only() returns trigger language plpgsql as $$
      begin
        raise exception 'the audit log is append-only';
      end $$`.execute(db);
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
    await sql`
      insert into audit_chain (seq, hash, recorded_at, month)
      values (0, ${genesisHash}, ${new Date(0)}, '')`.execute(db);
    const { rows } = await sql<{ schema: string }>`select current_schema() as schema`.execute(db);
    const schema = sql.id(rows[0]?.schema ?? 'public');
    // A statement on a partition does not fire the parent table's triggers: each partition gets its own.
    await sql`
      create function ensure_audit_partition(month text) returns void
      language plpgsql security definer set search_path = ${schema}, pg_temp as $$
      declare
        partition text := 'audit_log_' || replace(month, '-', '_');
        first timestamptz;
      begin
        if month is null or month !~ '^[0-9]{4}-(0[1-9]|1[0-2])$' then
          raise exception 'a month of the audit log is written as 2026-11';
        end if;
        first := (month || '-01 00:00:00+00')::timestamptz;
        if to_regclass(partition) is not null then return; end if;
        execute format('create table %I partition of audit_log for values from (%L) to (%L)',
          partition, first, (first at time zone 'UTC' + interval '1 month') at time zone 'UTC');
        execute format('create trigger audit_log_stays before update or delete or truncate on %I
          for each statement execute function audit_log_is_append_only()', partition);
      end $$`.execute(db);
    await sql`revoke execute on function ensure_audit_partition(text) from public`.execute(db);
  },
};
