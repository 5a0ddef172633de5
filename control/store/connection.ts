// Connections to PostgreSQL: a bounded pool, a deadline on everything, int8 as a number, a date as text. It also
// decides which errors mean that the database is unavailable.
import { PostgresDialect } from 'kysely';
import pg from 'pg';
import { ignoring, messageOf } from '../../platform/errors.ts';
import { limits } from '../../platform/limits.ts';
import { assert } from '../../platform/assert.ts';

const int8Oid = 20;
const dateOid = 1082;

const types: pg.CustomTypesConfig = {
  getTypeParser(oid: number, format?: 'text' | 'binary') {
    // The driver would convert a date to a time in the local time zone.
    if (oid === dateOid) return (text: string) => text;
    return oid === int8Oid ? parseInt8 : pg.types.getTypeParser(oid, format);
  },
};

/** Settings of a single connection; the pool adds its bound. */
export function clientConfigOf(
  databaseUrl: string,
  statementTimeoutMs: number = limits.store.statementTimeoutMs,
): pg.ClientConfig {
  return {
    connectionString: databaseUrl,
    application_name: 'heliograph',
    connectionTimeoutMillis: limits.store.connectTimeoutMs,
    statement_timeout: statementTimeoutMs,
    // The server may be gone without closing the connection; then only the client's own timer ends the query.
    query_timeout: statementTimeoutMs + 1_000,
    idle_in_transaction_session_timeout: limits.store.idleInTransactionMs,
    keepAlive: true,
    keepAliveInitialDelayMillis: 5_000,
    types,
  };
}

export function dialectOf(
  databaseUrl: string,
  options: { poolMax?: number; statementTimeoutMs?: number } = {},
): PostgresDialect {
  const pool = new pg.Pool({
    ...clientConfigOf(databaseUrl, options.statementTimeoutMs),
    max: options.poolMax ?? limits.store.poolMax,
    idleTimeoutMillis: 30_000,
  });
  // Without a listener the loss of an idle connection would end the process.
  pool.on('error', (error) => ignoring(error, 'an idle database connection was lost'));
  // A connection may be lost between two statements of a transaction: the next statement fails and reports it.
  pool.on('connect', (client) => {
    client.on('error', (error) => ignoring(error, 'a database connection in use was lost'));
  });
  return new PostgresDialect({ pool });
}

/** True when the database cannot be reached or is overloaded: the same query may succeed later. */
export function isStoreUnavailable(error: unknown): boolean {
  const code = (error as { code?: unknown } | null)?.code;
  if (typeof code === 'string' && code !== '') {
    // Connection exceptions, resources exhausted, operator intervention (shutdown, start-up, statement timeout).
    if (/^(08|53|57)/.test(code)) return true;
    if (/^E(CONN|TIMEDOUT|PIPE|HOST|NET|AI_AGAIN)/.test(code)) return true;
  }
  // node-postgres has no code for these.
  return /Connection terminated|connection timeout|timeout exceeded when trying to connect|Query read timeout|Client has encountered a connection error|not queryable|Cannot use a pool after/i.test(
    messageOf(error),
  );
}

/** SQLSTATEs that callers explain. */
const sqlStates = { insufficientPrivilege: '42501', undefinedTable: '42P01' } as const;

export function hasSqlState(error: unknown, state: keyof typeof sqlStates): boolean {
  return (error as { code?: unknown } | null)?.code === sqlStates[state];
}

function parseInt8(text: string): number {
  const value = Number(text);
  assert(Number.isSafeInteger(value), 'an int8 above 2^53 would be rounded');
  return value;
}
