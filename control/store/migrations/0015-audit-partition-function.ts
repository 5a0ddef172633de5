// Hardens the function that creates partitions for a role that may not: it searches one schema only, accepts only a
// month, and only granted roles may execute it. Before, a temporary table of the caller with the name of a partition,
// or another name in the argument, would have been used.
import { type Kysely, sql } from 'kysely';
import type { Migration } from 'kysely/migration';

export const auditPartitionFunction: Migration = {
  async up(db: Kysely<unknown>): Promise<void> {
    const { rows } = await sql<{ schema: string }>`select current_schema() as schema`.execute(db);
    const schema = sql.id(rows[0]?.schema ?? 'public');
    await sql`
      create or replace function ensure_audit_partition(month text) returns void
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
