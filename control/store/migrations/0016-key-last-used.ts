// The day on which a key was last used, so that unused keys can be found and revoked.
import { type Kysely, sql } from 'kysely';
import type { Migration } from 'kysely/migration';

export const keyLastUsed: Migration = {
  async up(db: Kysely<unknown>): Promise<void> {
    await sql`alter table api_keys add column last_used_on date`.execute(db);
  },
};
