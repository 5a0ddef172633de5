// Accounts, their API keys, senders and templates, the outbox that carries every change of them to the directory, and a
// name of the database itself, by which NATS identifies the owner of the directory: a copy or a restored dump keeps it.
// Applied migrations are history: a later change is a new file, never an edit of this one.
import { type Kysely, sql } from 'kysely';
import type { Migration } from 'kysely/migration';
import { secretBytes } from '../../../platform/random.ts';

export const tenants: Migration = {
  async up(db: Kysely<unknown>): Promise<void> {
    await sql`
      create table accounts (
        id text primary key,
        name text not null check (length(name) between 1 and 200),
        status text not null default 'active' check (status in ('active', 'suspended')),
        created_at timestamptz not null default now(),
        ip_allowlist text[] not null default '{}',
        rate_per_second integer check (rate_per_second between 1 and 1000000),
        rate_burst integer check (rate_burst between 1 and 1000000),
        idempotency_keys_per_hour integer check (idempotency_keys_per_hour between 0 and 10000000),
        require_template text[] not null default '{}',
        content_words text[] not null default '{}',
        links_denied text[] not null default '{}',
        links_allowed text[] not null default '{}',
        suppressed integer not null default 0,
        suppression_bits smallint not null default 0,
        resend_unknown text[] not null default '{}'
          check (resend_unknown <@ array['otp', 'transactional', 'promotional']),
        keep_inbound_text boolean not null default false,
        help_text text,
        weight smallint not null default 1 check (weight between 1 and 100)
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
        revoked_at timestamptz,
        ip_allowlist text[] not null default '{}',
        rate_per_second integer check (rate_per_second between 1 and 1000000),
        rate_burst integer check (rate_burst between 1 and 1000000),
        last_used_on date
      )`.execute(db);
    await sql`create index api_keys_of_account on api_keys (account_id, id desc)`.execute(db);
    // `categories` null: approved for every category.
    await sql`
      create table senders (
        id text primary key,
        account_id text not null references accounts (id),
        name text not null check (length(name) between 1 and 16),
        kind text not null check (kind in ('alphanumeric', 'numeric', 'short_code')),
        status text not null check (status in ('approved', 'pending', 'rejected')),
        created_at timestamptz not null default now(),
        categories text[],
        unique (account_id, name)
      )`.execute(db);
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
    await sql`
      create table outbox (
        id bigserial primary key,
        entity text not null check (entity in ('account', 'key', 'template', 'suppression')),
        entity_id text not null,
        created_at timestamptz not null default now()
      )`.execute(db);
    await sql`
      create table installation (
        one boolean primary key default true check (one),
        id text not null,
        created_at timestamptz not null default now()
      )`.execute(db);
    await sql`insert into installation (id) values (${secretBytes(8).toString('hex')})`.execute(db);
  },
};
