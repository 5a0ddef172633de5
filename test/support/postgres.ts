// A private PostgreSQL for tests: its own folder, port, roles and passwords. The database `heliograph` exists and is
// empty.
import { chmodSync, mkdtempSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import pg from 'pg';
import { startPostgresServer } from '../../cluster/embedded/postgres.ts';
import { databaseRoles, postgresUrl } from '../../cluster/embedded/postgres-roles.ts';
import { freePort } from '../../cluster/embedded/ports.ts';
import { copyTemplate, templatePasswords } from './postgres-template.ts';
import { type RestartableServer, startRestartable } from './restartable-server.ts';

/** `url` is the superuser's: for what an operator does. */
export type TestPostgres = RestartableServer & {
  readonly ownerUrl: string;
  readonly applicationUrl: string;
  /** A database of its own in the same server, empty. */
  emptyDatabase(name: string): Promise<DatabaseOfTest>;
};

export type DatabaseOfTest = { readonly url: string; readonly ownerUrl: string; readonly superuserUrl: string };

/** `isNew`: initialised as the product does it, instead of a copy of what that leaves. */
export async function startPostgres({ isNew = false } = {}): Promise<TestPostgres> {
  const dataDir = mkdtempSync(join(tmpdir(), 'heliograph-postgres-'));
  // Run by root, the server belongs to another user, who must be able to enter.
  chmodSync(dataDir, 0o755);
  const options = { dataDir, port: await freePort(), passwords: templatePasswords, graceMs: 0 };
  if (!isNew) await copyTemplate(dataDir);
  const server = await startRestartable(dataDir, 20_000, () => startPostgresServer(options));
  const { owner, application } = databaseRoles;
  return {
    ...server,
    url: postgresUrl(options, 'superuser'),
    ownerUrl: postgresUrl(options, 'owner'),
    applicationUrl: postgresUrl(options),
    async emptyDatabase(name) {
      await asked(postgresUrl(options, 'superuser'), `create database ${name} owner ${owner}`);
      await asked(postgresUrl(options, 'superuser'), `revoke all on database ${name} from public`);
      await asked(postgresUrl(options, 'superuser'), `grant connect on database ${name} to ${application}`);
      return {
        url: postgresUrl(options, 'application', name),
        ownerUrl: postgresUrl(options, 'owner', name),
        superuserUrl: postgresUrl(options, 'superuser', name),
      };
    },
  };
}

/** One statement on a connection of its own. */
export async function asked(url: string, text: string, values: unknown[] = []): Promise<pg.QueryResult> {
  const client = new pg.Client({ connectionString: url, connectionTimeoutMillis: 5_000 });
  try {
    await client.connect();
    return await client.query(text, values);
  } finally {
    await client.end();
  }
}
