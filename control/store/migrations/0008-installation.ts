// A name of the database itself, created once, by which NATS identifies the owner of the directory. A copy or a
// restored dump keeps it.
import { type Kysely, sql } from 'kysely';
import type { Migration } from 'kysely/migration';
import { secretBytes } from '../../../platform/random.ts';

export const installation: Migration = {
  async up(db: Kysely<unknown>): Promise<void> {
    await sql`
      create table installation (
        one boolean primary key default true check (one),
        id text not null,
        created_at timestamptz not null default now()
      )`.execute(db);
    await sql`insert into installation (id) values (${secretBytes(8).toString('hex')})`.execute(db);
  },
};
