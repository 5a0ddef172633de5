// The erasures of numbers that this database has carried out, by their keyed hashes: one that was restored from a backup
// lacks those since, and carries them out again.
import { type Kysely, sql } from 'kysely';
import type { Migration } from 'kysely/migration';

export const erasures: Migration = {
  async up(db: Kysely<unknown>): Promise<void> {
    await sql`
      create table erasures (
        id text primary key,
        mark jsonb not null,
        carried_out_at timestamptz not null default now()
      )`.execute(db);
  },
};
