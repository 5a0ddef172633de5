// What a new SQL user must not get, as statements that are run with its own password before it is handed out. A server
// can be set so that users read system tables without a right; then the user is not made.
import { type SqlUser, literal, ownRows, quoted } from './sql-user.ts';
import { publicTables } from './public-tables.ts';

type IsolationCheck = {
  readonly what: string;
  readonly sql: string;
  /** refused: with an error · nothing: by a refusal, or a single 0. */
  readonly expect: 'refused' | 'nothing';
};

export function isolationChecks(plan: SqlUser): readonly IsolationCheck[] {
  const [first] = publicTables;
  const events = `${quoted(plan.tables)}.${quoted(first?.name ?? '')}`;
  const refused = (what: string, sql: string): IsolationCheck => ({ what, sql, expect: 'refused' });
  const nothing = (what: string, sql: string): IsolationCheck => ({ what, sql, expect: 'nothing' });
  return [
    ...publicTables.map((table) =>
      nothing(
        `rows of other accounts in ${table.name}`,
        `SELECT count() FROM ${quoted(plan.database)}.${quoted(table.name)} WHERE NOT (${ownRows(plan)})`,
      ),
    ),
    ...publicTables.map((table) =>
      refused(`the table ${table.name} itself`, `SELECT count() FROM ${quoted(plan.tables)}.${quoted(table.name)}`),
    ),
    refused(
      'its index',
      `SELECT * FROM mergeTreeIndex(${literal(plan.tables)}, ${literal(first?.name ?? '')}) LIMIT 1`,
    ),
    nothing('its size', `SELECT count() FROM system.parts WHERE database = ${literal(plan.tables)}`),
    nothing('its row in system.tables', `SELECT count() FROM system.tables WHERE database = ${literal(plan.tables)}`),
    refused('errors of the server', 'SELECT * FROM system.errors LIMIT 1'),
    refused('statements of others', 'SELECT query FROM system.query_log LIMIT 1'),
    refused('stacks of threads', 'SELECT * FROM system.stack_trace LIMIT 1'),
    refused('files', "SELECT * FROM file('/etc/hostname', 'LineAsString')"),
    refused('addresses', "SELECT * FROM url('http://127.0.0.1:1/', 'CSV', 'a String')"),
    refused('other servers', `SELECT count() FROM remote('127.0.0.1', ${literal(plan.tables)}, 'sms_events')`),
    refused('other settings', 'SET readonly = 0'),
    refused('writing', `INSERT INTO ${events} (account_id) VALUES ('')`),
    refused('making tables', `CREATE TABLE ${quoted(plan.database)}.t (a UInt8) ENGINE = Memory`),
    refused('temporary tables', 'CREATE TEMPORARY TABLE t (a UInt8)'),
  ];
}
