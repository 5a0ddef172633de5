// When a webhook endpoint was enabled again: the delivery process begins again with it, however soon after it was disabled.
import { type Kysely, sql } from 'kysely';
import type { Migration } from 'kysely/migration';

export const webhooksEnabled: Migration = {
  async up(db: Kysely<unknown>): Promise<void> {
    await sql`alter table webhook_endpoints add column enabled_at timestamptz`.execute(db);
  },
};
