// Webhook endpoints of accounts, and their place in the outbox.
import { type Kysely, sql } from 'kysely';
import type { Migration } from 'kysely/migration';

export const webhooks: Migration = {
  async up(db: Kysely<unknown>): Promise<void> {
    await sql`
      create table webhook_endpoints (
        id text primary key,
        account_id text not null references accounts (id),
        livemode boolean not null,
        url text not null check (length(url) between 1 and 2000),
        events text[] not null,
        ordering text not null check (ordering in ('none', 'per_message')),
        batch_max smallint,
        batch_wait_ms integer,
        sealed_secrets text not null,
        disabled_reason text check (disabled_reason in ('client', 'gone', 'failing')),
        disabled_at timestamptz,
        description text not null default '',
        created_at timestamptz not null default now(),
        check ((batch_max is null) = (batch_wait_ms is null)),
        check ((disabled_reason is null) = (disabled_at is null))
      )`.execute(db);
    await sql`create index webhook_endpoints_of_account on webhook_endpoints (account_id, id desc)`.execute(db);
    await sql`alter table outbox drop constraint outbox_entity_check`.execute(db);
    await sql`
      alter table outbox add constraint outbox_entity_check
        check (entity in ('account', 'key', 'template', 'webhook', 'suppression'))`.execute(db);
  },
};
