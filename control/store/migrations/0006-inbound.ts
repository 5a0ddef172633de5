// Subscribers' decisions by keyword: the last one of each subscriber about each sender of an account, so that late and
// repeated ones change nothing; and the account's settings for subscribers' messages.
import { type Kysely, sql } from 'kysely';
import type { Migration } from 'kysely/migration';

export const inbound: Migration = {
  async up(db: Kysely<unknown>): Promise<void> {
    await sql`
      alter table accounts
        add column keep_inbound_text boolean not null default false,
        add column help_text text`.execute(db);
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
