// `sql-user create|rotate|drop|list`: the users with which analysts of an account run SQL on the ClickHouse server of
// CLICKHOUSE_URL, whose user must be allowed to manage users. Audited before anything changes. A user that sees more than
// it should, because of how the server is set, is removed again.
import { createHash } from 'node:crypto';
import { isolationChecks } from '../analytics/sql/isolation-checks.ts';
import { publicTables } from '../analytics/sql/public-tables.ts';
import { type SqlUser, createStatements, dropStatements, sqlUserOf, sqlUserPrefix } from '../analytics/sql/sql-user.ts';
import { type Engine, openEngine } from '../analytics/store/engine.ts';
import { loadSettings } from '../config/settings.ts';
import { noteForAudit } from '../control/audit-notes.ts';
import { isAccountId } from '../model/ids.ts';
import { SetupError, messageOf } from '../platform/errors.ts';
import { secretBytes } from '../platform/random.ts';
import { operatorName } from './operator-name.ts';
import { accountIdOf } from './options.ts';
import type { Result } from './print.ts';
import { assertStoredAccount, withStore } from './tenants.ts';
import { closing, explained, withBus } from './with-bus.ts';

type Options = { account: string };

export const changeSqlUser =
  (verb: 'create' | 'rotate' | 'drop') =>
  ({ account }: Options): Promise<Result> =>
    verb === 'drop' ? drop(account) : give(account, verb === 'create' ? 'created' : 'rotated');

async function drop(account: string): Promise<Result> {
  return withServer(async ({ engine, tables }) => {
    const plan = sqlUserOf(accountIdOf(account, '--account'), tables);
    if (!(await usersOf(engine)).includes(plan.user)) throw noUser(plan);
    await audited(plan, 'dropped');
    for (const statement of dropStatements(plan)) await engine.command(statement);
    const { user } = plan;
    return { json: { object: 'sql_user', account, user, dropped: true }, lines: [`Dropped  ${user}`] };
  });
}

export async function listSqlUsers(): Promise<Result> {
  const users = await withServer(({ engine }) => usersOf(engine));
  const data = users.map((user) => ({ object: 'sql_user', account: user.slice(sqlUserPrefix.length), user }));
  return { json: { data }, lines: data.length === 0 ? ['none yet'] : data.map(({ user }) => user) };
}

/** Both make everything the user needs, so that a rotation also brings the tables of a new version. */
async function give(account: string, how: 'created' | 'rotated'): Promise<Result> {
  const accountId = accountIdOf(account, '--account');
  await withStore((store) => assertStoredAccount(store, accountId));
  return withServer(async ({ engine, tables, url }) => {
    const plan = sqlUserOf(accountId, tables);
    const { user, database } = plan;
    const isThere = (await usersOf(engine)).includes(user);
    if (how === 'created' && isThere)
      throw new SetupError(`${user} exists: heliograph sql-user rotate --account ${account}`);
    if (how === 'rotated' && !isThere) throw noUser(plan);
    await audited(plan, how);
    const password = secretBytes(24).toString('base64url');
    const statements = createStatements(plan, hashOf(password), hashOf(secretBytes(32).toString('base64url')));
    for (const statement of statements) await engine.command(statement);
    await checkIsolation(engine, url, plan, password);
    return {
      json: { object: 'sql_user', account, user, database, password, tables: publicTables.map(({ name }) => name) },
      lines: [
        `SQL user  ${user}  database ${database}`,
        `          ${password}`,
        'It is shown only once: store it now. docs/schema.md has the tables.',
      ],
    };
  });
}

/** Asks with the password of the new user for what it must not get; removes the user when it gets any of it. */
async function checkIsolation(engine: Engine, url: string, plan: SqlUser, password: string): Promise<void> {
  const leaks = await leaksOf(url, plan, password);
  if (leaks.length === 0) return;
  for (const statement of dropStatements(plan)) await engine.command(statement);
  throw new SetupError(
    `The server lets ${plan.user} see ${leaks.join('; ')}. The user was removed. Set select_from_system_db_requires_grant to true ` +
      'under access_control_improvements of its configuration, and see docs/schema.md',
  );
}

/** What the user gets that it must not get, in words. Throws when the server does not answer. */
export async function leaksOf(url: string, plan: SqlUser, password: string): Promise<readonly string[]> {
  const leaks: string[] = [];
  for (const { what, sql, expect } of isolationChecks(plan)) {
    const { isRefused, text } = await ask(url, plan.user, password, sql);
    if (!isRefused && (expect === 'refused' || text.trim() !== '0')) leaks.push(what);
  }
  return leaks;
}

const askedWithinMs = 10_000;

/** One statement over the HTTP interface, as ClickHouse takes it from any client. */
async function ask(
  url: string,
  user: string,
  password: string,
  sql: string,
): Promise<{ readonly isRefused: boolean; readonly text: string }> {
  const { origin } = new URL(url);
  const response = await explained(
    fetch(origin, {
      method: 'POST',
      body: sql,
      headers: { 'x-clickhouse-user': user, 'x-clickhouse-key': password },
      signal: AbortSignal.timeout(askedWithinMs),
    }),
    (error) => `CLICKHOUSE_URL: the server does not answer: ${messageOf(error)}`,
  );
  const text = await response.text();
  // A password that the server refuses would pass every check.
  if (/\b(516|AUTHENTICATION_FAILED)\b/.test(text) && !response.ok) {
    throw new SetupError(`CLICKHOUSE_URL: the server does not accept the new password of ${user}`);
  }
  return { isRefused: !response.ok, text };
}

const hashOf = (password: string): string => createHash('sha256').update(password).digest('hex');

async function usersOf(engine: Engine): Promise<readonly string[]> {
  const rows = await engine.rows(
    'SELECT name FROM system.users WHERE startsWith(name, {prefix:String}) ORDER BY name',
    {
      prefix: sqlUserPrefix,
    },
  );
  return rows.map(([name]) => String(name)).filter((name) => isAccountId(name.slice(sqlUserPrefix.length)));
}

const noUser = ({ account, user }: SqlUser) =>
  new SetupError(`There is no user ${user}: heliograph sql-user create --account ${account}`);

/** Audited first: what cannot be audited must not happen. */
async function audited({ account, user, database }: SqlUser, how: 'created' | 'rotated' | 'dropped'): Promise<void> {
  const note = { action: `sql_user.${how}`, target: account, detail: { user, database }, by: operatorName() } as const;
  await withBus((bus) => noteForAudit(bus, note));
}

type Server = { readonly engine: Engine; readonly tables: string; readonly url: string };

async function withServer<T>(work: (server: Server) => Promise<T>): Promise<T> {
  const { clickhouseUrl: url } = loadSettings();
  if (url === null) {
    throw new SetupError(
      'SQL users need a ClickHouse server: set CLICKHOUSE_URL. The embedded ClickHouse has one user only; its accounts have exports (GET /v1/exports/…)',
    );
  }
  return closing(openEngine({ clickhouseUrl: url, dataDir: '' }), async (engine) => {
    const database = engine.rows('SELECT currentDatabase()');
    const [row] = await explained(database, (error) => `CLICKHOUSE_URL: ${messageOf(error)}`);
    return work({ engine, tables: String(row?.[0]), url });
  });
}
