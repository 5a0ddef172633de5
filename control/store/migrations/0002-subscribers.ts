// What accounts know of subscribers: suppressed numbers, each with its place (model/suppression.ts) so that one block of a
// long list can be read alone, and their decisions by keyword, the last one of each subscriber about each sender, so that
// late and repeated ones change nothing.
import { type Kysely, sql } from 'kysely';
import type { Migration } from 'kysely/migration';

export const subscribers: Migration = {
  async up(db: Kysely<unknown>): Promise<void> {
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
    // An empty sender covers all of them. `at_ms` is when the carrier delivered the keyword.
    await sql`
      create table subscriber_decisions (
        account_id text not null references accounts (id),
        number bigint not null,
        sender text not null default '',
        keyword text not null check (keyword in ('stop', 'start')),
        at_ms bigint not null,
        message_id text not null,
        primary key (account_id, number, sender)
      )`.execute(db);
  },
};
