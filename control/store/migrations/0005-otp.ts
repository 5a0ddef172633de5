// One-time passwords: whether an account may send codes of four or five digits. Their state is in NATS.
import type { Kysely } from 'kysely';
import type { Migration } from 'kysely/migration';

export const otp: Migration = {
  async up(db: Kysely<unknown>): Promise<void> {
    await db.schema
      .alterTable('accounts')
      .addColumn('otp_short_codes', 'boolean', (column) => column.notNull().defaultTo(false))
      .execute();
  },
};
