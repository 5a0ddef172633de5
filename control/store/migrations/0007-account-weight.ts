// An account's weight in a carrier's lane beside other waiting accounts: 1 unless the operator sets it.
import { type Kysely, sql } from 'kysely';
import type { Migration } from 'kysely/migration';

export const accountWeight: Migration = {
  async up(db: Kysely<unknown>): Promise<void> {
    await sql`
      alter table accounts add column weight smallint not null default 1 check (weight between 1 and 100)`.execute(db);
  },
};
