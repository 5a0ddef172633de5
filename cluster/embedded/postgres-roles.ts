// The roles of the embedded PostgreSQL. The superuser makes the two others and the database, and is used for nothing
// else; the owner has the tables and migrates them; the application role is what control uses while it runs. Asked at
// every start: a database that an older version made, all by the superuser, is handed over to the owner.
import pg from 'pg';
import { ignoring } from '../../platform/errors.ts';

export type DatabaseRole = 'superuser' | 'owner' | 'application';
export type DatabasePasswords = Readonly<Record<DatabaseRole, string>>;

/** The superuser's name is that of the first versions' only role. */
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
  await asSuperuser(postgresUrl(server, 'superuser', 'postgres'), async (client) => {
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
    await client.query(
      found.rowCount === 0
        ? `create database ${databaseName} owner ${owner}`
        : `alter database ${databaseName} owner to ${owner}`,
    );
    await client.query(`revoke all on database ${databaseName}, postgres, template1 from public`);
    await client.query(`grant connect on database ${databaseName} to ${application}`);
  });
  await asSuperuser(postgresUrl(server, 'superuser'), async (client) => {
    await client.query(handOver(owner));
  });
}

/** Gives the owner what another role made in its schema. What belongs to a table goes with it. */
const handOver = (owner: string) => `
do $$
declare
  statement text;
begin
  for statement in
    select format('alter %s public.%I owner to ${owner}',
      case relkind when 'S' then 'sequence' when 'v' then 'view' when 'm' then 'materialized view' else 'table' end, relname)
    from pg_class where relnamespace = 'public'::regnamespace and relkind in ('r', 'p', 'v', 'm', 'S')
      and relowner <> '${owner}'::regrole
      and not exists (select from pg_depend
        where classid = 'pg_class'::regclass and objid = pg_class.oid and refclassid = 'pg_class'::regclass
          and relkind = 'S' and deptype in ('a', 'i'))
    union all
    select format('alter routine %s owner to ${owner}', oid::regprocedure)
    from pg_proc where pronamespace = 'public'::regnamespace and proowner <> '${owner}'::regrole
  loop
    execute statement;
  end loop;
end $$`;

/** A name of somebody else's is never looked up, and no password comes into the server's log. */
const sessionOptions = '-c search_path=pg_catalog -c log_min_error_statement=panic';

async function asSuperuser(url: string, work: (client: pg.Client) => Promise<void>): Promise<void> {
  const client = new pg.Client({
    connectionString: url,
    connectionTimeoutMillis: 2_000,
    query_timeout: 10_000,
    options: sessionOptions,
  });
  client.on('error', (error) => ignoring(error, 'the connection that makes the roles broke'));
  try {
    await client.connect();
    await work(client);
  } finally {
    await client.end();
  }
}
