// The audit log records operator commands, each once however often it is written, and the origin of a change; it
// becomes append-only for the application role.
import { type Kysely, sql } from 'kysely';
import type { Migration } from 'kysely/migration';

export const auditOfOrders: Migration = {
  async up(db: Kysely<unknown>): Promise<void> {
    await sql`
      alter table audit_log
        add column record_id text unique,
        add column origin text not null default ''`.execute(db);
    await sql`
      create function audit_log_is_append_only() returns trigger language plpgsql as $$
      begin
        raise exception 'the audit log is append-only';
      end $$`.execute(db);
    await sql`
      create trigger audit_log_stays
        before update or delete or truncate on audit_log
        for each statement execute function audit_log_is_append_only()`.execute(db);
  },
};
