// The roles of the embedded PostgreSQL. The superuser only creates the others and the database; the owner has the
// tables and migrates them; control uses the application role at run time. Created and given their passwords at every
// start.
import pg from 'pg';
import { ignoring } from '../../platform/errors.ts';

export type DatabaseRole = 'superuser' | 'owner' | 'application';
export type DatabasePasswords = Readonly<Record<DatabaseRole, string>>;

export const databaseRoles: Readonly<Record<DatabaseRole, string>> = {
  superuser: 'heliograph',
  owner: 'heliograph_owner',
  application: 'heliograph_app',
};
export const databaseName = 'heliograph';

export function postgresUrl(
  { port, passwords }: { port: number; passwords: DatabasePasswords },
  role: DatabaseRole = 'application',
  database = databaseName,
): string {
  return `postgresql://${databaseRoles[role]}:${passwords[role]}@127.0.0.1:${port}/${database}`;
}

export async function makeRoles(server: { port: number; passwords: DatabasePasswords }): Promise<void> {
  const { passwords } = server;
  const { owner, application } = databaseRoles;
  const config = {
    connectionString: postgresUrl(server, 'superuser', 'postgres'),
    connectionTimeoutMillis: 2_000,
    query_timeout: 10_000,
    options: sessionOptions,
  };
  await withClient(config, 'the connection that makes the roles broke', async (client) => {
    for (const role of ['owner', 'application'] as const) {
      const name = databaseRoles[role];
      const found = await client.query('select from pg_roles where rolname = $1', [name]);
      if (found.rowCount === 0) await client.query(`create role ${name}`);
      const password = client.escapeLiteral(passwords[role]);
      await client.query(
        `alter role ${name} login nosuperuser nocreatedb nocreaterole noreplication nobypassrls password ${password}`,
      );
    }
    const found = await client.query('select from pg_database where datname = $1', [databaseName]);
    if (found.rowCount === 0) await client.query(`create database ${databaseName} owner ${owner}`);
    await client.query(`revoke all on database ${databaseName}, postgres, template1 from public`);
    await client.query(`grant connect on database ${databaseName} to ${application}`);
  });
}

/** No object of other schemas is looked up, and no password is written to the server's log. */
const sessionOptions = '-c search_path=pg_catalog -c log_min_error_statement=panic';

/** Connects, works and closes. `why`: what the loss of the connection means. */
export async function withClient<T>(
  config: pg.ClientConfig,
  why: string,
  work: (client: pg.Client) => Promise<T>,
): Promise<T> {
  const client = new pg.Client(config);
  client.on('error', (error) => ignoring(error, why));
  try {
    await client.connect();
    return await work(client);
  } finally {
    await client.end();
  }
}
