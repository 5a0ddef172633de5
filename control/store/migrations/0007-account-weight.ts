// How large an account's share of a carrier's lane is beside others that wait there too: 1 unless the operator says
// otherwise.
import { type Kysely, sql } from 'kysely';
import type { Migration } from 'kysely/migration';

export const accountWeight: Migration = {
  async up(db: Kysely<unknown>): Promise<void> {
    await sql`
      alter table accounts add column weight smallint not null default 1 check (weight between 1 and 100)`.execute(db);
  },
};
