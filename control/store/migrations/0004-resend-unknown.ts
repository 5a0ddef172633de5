// The categories whose messages an account wants resent when it is unknown whether the carrier took them. Default:
// none.
import { type Kysely, sql } from 'kysely';
import type { Migration } from 'kysely/migration';

export const resendUnknown: Migration = {
  async up(db: Kysely<unknown>): Promise<void> {
    await sql`
      alter table accounts add column resend_unknown text[] not null default '{}'
        check (resend_unknown <@ array['otp', 'transactional', 'promotional'])`.execute(db);
  },
};
