// Accounts, their API keys and senders, and the outbox that carries every change of them to the directory.
// Applied migrations are history: a later change is a new file, never an edit of this one.
import { type Kysely, sql } from 'kysely';
import type { Migration } from 'kysely/migration';

export const tenants: Migration = {
  async up(db: Kysely<unknown>): Promise<void> {
    await sql`
      create table accounts (
        id text primary key,
        name text not null check (length(name) between 1 and 200),
        status text not null default 'active' check (status in ('active', 'suspended')),
        created_at timestamptz not null default now()
      )`.execute(db);
    await sql`
      create table api_keys (
        id text primary key,
        account_id text not null references accounts (id),
        public_id text not null unique,
        secret_hash bytea not null check (length(secret_hash) = 32),
        livemode boolean not null,
        scopes text[] not null,
        description text not null default '',
        created_at timestamptz not null default now(),
        expires_at timestamptz,
        revoked_at timestamptz
      )`.execute(db);
    await sql`create index api_keys_of_account on api_keys (account_id, id desc)`.execute(db);
    await sql`
      create table senders (
        id text primary key,
        account_id text not null references accounts (id),
        name text not null check (length(name) between 1 and 16),
        kind text not null check (kind in ('alphanumeric', 'numeric', 'short_code')),
        status text not null check (status in ('approved', 'pending', 'rejected')),
        created_at timestamptz not null default now(),
        unique (account_id, name)
      )`.execute(db);
    await sql`
      create table outbox (
        id bigserial primary key,
        entity text not null check (entity in ('account', 'key')),
        entity_id text not null,
        created_at timestamptz not null default now()
      )`.execute(db);
  },
};
