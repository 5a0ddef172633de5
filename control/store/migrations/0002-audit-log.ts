// The audit log: one row per change, written in the change's own transaction.
import { type Kysely, sql } from 'kysely';
import type { Migration } from 'kysely/migration';

export const auditLog: Migration = {
  async up(db: Kysely<unknown>): Promise<void> {
    await sql`
      create table audit_log (
        id bigserial primary key,
        at timestamptz not null default now(),
        account_id text references accounts (id),
        actor text not null,
        action text not null,
        target text not null,
        detail jsonb not null default '{}'
      )`.execute(db);
    await sql`create index audit_log_of_account on audit_log (account_id, id desc)`.execute(db);
  },
};
