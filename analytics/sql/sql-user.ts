// The user of a ClickHouse server with which an account's analysts run SQL, as statements. Pure (decision 225).
//
// The account has a database with one view for each public table. The view runs as a second user, its reader, that nobody can
// log in as; the row policy is on the table itself and for the reader. So the rows of others are gone before any expression
// of a query sees a row, and the analysts' user has no right on a table: neither its index nor its number of rows shows.
import { assert } from '../../platform/assert.ts';
import { type AccountId, isAccountId } from '../../model/ids.ts';
import { type PublicTable, publicTables } from './public-tables.ts';

export type SqlUser = {
  readonly account: AccountId;
  /** Also the name of its settings profile and its quota. */
  readonly user: string;
  readonly reader: string;
  /** What its views are in. */
  readonly database: string;
  /** The database that has the tables. */
  readonly tables: string;
};

export const sqlUserPrefix = 'sql_';

export function sqlUserOf(account: AccountId, tables: string): SqlUser {
  assert(isAccountId(account), 'the id of an account');
  const user = `${sqlUserPrefix}${account}`;
  return { account, user, reader: `${user}_reader`, database: user, tables };
}

/** Settings of its profile; each is constant. The last two bound what one account takes of the server. */
export const sqlUserSettings: Readonly<Record<string, string | number>> = {
  readonly: 1,
  max_execution_time: 30,
  timeout_overflow_mode: 'throw',
  max_memory_usage: 1_000_000_000,
  max_threads: 2,
  max_result_rows: 1_000_000,
  max_result_bytes: 500_000_000,
  result_overflow_mode: 'throw',
  max_concurrent_queries_for_user: 2,
  priority: 10,
};

/** By the hour. */
const sqlUserQuota: Readonly<Record<string, number>> = {
  queries: 1_000,
  errors: 500,
  read_rows: 20_000_000_000,
  execution_time: 1_800,
};

/** The password as the server stores it: SHA-256 in hex. */
type PasswordHash = string;

/**
 * In this order: the policy is there before the right to read, and what analysts log in with comes last. All of it may be run
 * again: after a crash, for another password, or for the tables of a new version.
 */
export function createStatements(plan: SqlUser, password: PasswordHash, readerPassword: PasswordHash): string[] {
  const { user, reader, database } = plan;
  return [
    `DROP USER IF EXISTS ${quoted(user)}`,
    `CREATE SETTINGS PROFILE OR REPLACE ${quoted(user)} SETTINGS ${settingsSql()}`,
    `CREATE USER OR REPLACE ${quoted(reader)} IDENTIFIED WITH sha256_hash BY ${literal(hashOf(readerPassword))} HOST NONE`,
    ...publicTables.flatMap((table) => policyStatements(plan, table)),
    ...publicTables.map((table) => `GRANT SELECT(${columnsOf(table)}) ON ${tableOf(plan, table)} TO ${quoted(reader)}`),
    `CREATE DATABASE IF NOT EXISTS ${quoted(database)}`,
    ...publicTables.map((table) => viewStatement(plan, table)),
    `CREATE QUOTA OR REPLACE ${quoted(user)} KEYED BY user_name FOR INTERVAL 1 hour MAX ${quotaSql()}`,
    `CREATE USER ${quoted(user)} IDENTIFIED WITH sha256_hash BY ${literal(hashOf(password))} ` +
      `DEFAULT DATABASE ${quoted(database)} SETTINGS PROFILE ${literal(user)}`,
    `ALTER QUOTA ${quoted(user)} TO ${quoted(user)}`,
    ...publicTables.map((table) => `GRANT SELECT ON ${quoted(database)}.${quoted(table.name)} TO ${quoted(user)}`),
  ];
}

/** What analysts log in with goes first. */
export function dropStatements(plan: SqlUser): string[] {
  const { user, reader, database } = plan;
  return [
    `DROP USER IF EXISTS ${quoted(user)}`,
    `DROP DATABASE IF EXISTS ${quoted(database)} SYNC`,
    `DROP USER IF EXISTS ${quoted(reader)}`,
    ...publicTables.flatMap((table) =>
      [user, only(user)].map((name) => `DROP ROW POLICY IF EXISTS ${quoted(name)} ON ${tableOf(plan, table)}`),
    ),
    `DROP QUOTA IF EXISTS ${quoted(user)}`,
    `DROP SETTINGS PROFILE IF EXISTS ${quoted(user)}`,
  ];
}

/** The view of a public table. */
function viewStatement({ reader, database, tables }: SqlUser, table: PublicTable): string {
  return (
    `CREATE OR REPLACE VIEW ${quoted(database)}.${quoted(table.name)} DEFINER = ${quoted(reader)} SQL SECURITY DEFINER ` +
    `AS SELECT ${columnsOf(table)} FROM ${quoted(tables)}.${quoted(table.name)}`
  );
}

/** The condition of the account's row policy. */
export const ownRows = ({ account }: SqlUser): string => `account_id = ${literal(account)}`;

/**
 * The first lets the reader see rows of the account; the second lets it see nothing else, whatever other policies an
 * administrator adds for all users. A server may be set to show no rows to users without a policy once a table has one:
 * the third is for the user of Heliograph itself.
 */
function policyStatements(plan: SqlUser, table: PublicTable): string[] {
  const [on, to] = [tableOf(plan, table), quoted(plan.reader)];
  const policy = (name: string, rest: string) =>
    `CREATE ROW POLICY OR REPLACE ${quoted(name)} ON ${on} FOR SELECT ${rest}`;
  return [
    policy('heliograph', 'USING 1 TO CURRENT_USER'),
    policy(plan.user, `USING ${ownRows(plan)} AS PERMISSIVE TO ${to}`),
    policy(only(plan.user), `USING ${ownRows(plan)} AS RESTRICTIVE TO ${to}`),
  ];
}

const only = (user: string): string => `${user}_only`;
const tableOf = ({ tables }: SqlUser, table: PublicTable): string => `${quoted(tables)}.${quoted(table.name)}`;
const columnsOf = ({ columns }: PublicTable): string => columns.map(({ name }) => quoted(name)).join(', ');

const settingsSql = (): string =>
  Object.entries(sqlUserSettings)
    .map(([name, value]) => `${name} = ${typeof value === 'number' ? value : literal(value)} CONST`)
    .join(', ');
const quotaSql = (): string =>
  Object.entries(sqlUserQuota)
    .map(([name, max]) => `${name} = ${max}`)
    .join(', ');

export const quoted = (name: string): string => `\`${name.replaceAll('\\', '\\\\').replaceAll('`', '\\`')}\``;
export const literal = (text: string): string => `'${text.replaceAll('\\', '\\\\').replaceAll("'", "\\'")}'`;

function hashOf(password: PasswordHash): string {
  assert(/^[0-9a-f]{64}$/.test(password), 'SHA-256 in hex');
  return password;
}
