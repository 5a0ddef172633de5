// The data of gates other than keys and senders: networks, rates, templates, content rules and suppressed numbers. A
// suppressed number has its place (model/suppression.ts), so that one block of a long list can be read alone.
import { type Kysely, sql } from 'kysely';
import type { Migration } from 'kysely/migration';

export const gates: Migration = {
  async up(db: Kysely<unknown>): Promise<void> {
    await sql`
      alter table accounts
        add column ip_allowlist text[] not null default '{}',
        add column rate_per_second integer check (rate_per_second between 1 and 1000000),
        add column rate_burst integer check (rate_burst between 1 and 1000000),
        add column idempotency_keys_per_hour integer check (idempotency_keys_per_hour between 0 and 10000000),
        add column require_template text[] not null default '{}',
        add column content_words text[] not null default '{}',
        add column links_denied text[] not null default '{}',
        add column links_allowed text[] not null default '{}',
        add column suppressed integer not null default 0,
        add column suppression_bits smallint not null default 0`.execute(db);
    await sql`
      alter table api_keys
        add column ip_allowlist text[] not null default '{}',
        add column rate_per_second integer check (rate_per_second between 1 and 1000000),
        add column rate_burst integer check (rate_burst between 1 and 1000000)`.execute(db);
    // Null: approved for every category.
    await sql`alter table senders add column categories text[]`.execute(db);
    await sql`
      create table templates (
        id text primary key,
        account_id text not null references accounts (id),
        name text not null check (length(name) between 1 and 100),
        category text not null check (category in ('otp', 'transactional', 'promotional')),
        body text not null,
        variables jsonb not null,
        status text not null check (status in ('pending', 'approved', 'rejected')),
        note text not null default '',
        created_at timestamptz not null default now(),
        unique (account_id, name)
      )`.execute(db);
    // An empty sender or category covers all of them: with null the unique constraint would allow duplicates.
    await sql`
      create table suppressions (
        id text primary key,
        account_id text not null references accounts (id),
        number bigint not null,
        place smallint not null check (place between 0 and 255),
        sender text not null default '',
        category text not null default '' check (category in ('', 'otp', 'transactional', 'promotional')),
        reason text not null,
        created_at timestamptz not null default now(),
        unique (account_id, number, sender, category)
      )`.execute(db);
    await sql`create index suppressions_of_account on suppressions (account_id, id desc)`.execute(db);
    await sql`create index suppressions_of_block on suppressions (account_id, place)`.execute(db);
    // A block's version: a new token with every change, so that a comparison needs no numbers.
    await sql`
      create table suppression_blocks (
        account_id text not null references accounts (id),
        bits smallint not null,
        block smallint not null,
        version text not null,
        primary key (account_id, bits, block)
      )`.execute(db);
    await sql`alter table outbox drop constraint outbox_entity_check`.execute(db);
    await sql`
      alter table outbox add constraint outbox_entity_check
        check (entity in ('account', 'key', 'template', 'suppression'))`.execute(db);
  },
};
