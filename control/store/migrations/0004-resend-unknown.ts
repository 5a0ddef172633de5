// For which categories an account wants a message sent once more when nobody knows whether its carrier took it. An
// empty list, which every account begins with, is never.
import { type Kysely, sql } from 'kysely';
import type { Migration } from 'kysely/migration';

export const resendUnknown: Migration = {
  async up(db: Kysely<unknown>): Promise<void> {
    await sql`
      alter table accounts add column resend_unknown text[] not null default '{}'
        check (resend_unknown <@ array['otp', 'transactional', 'promotional'])`.execute(db);
  },
};
