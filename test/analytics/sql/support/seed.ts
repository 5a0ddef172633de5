// A process that fills an event store with the rows of two accounts, and makes the views of the first one's SQL user with
// the product's own statements. A process binds one folder and one set of users: the test reads as another user.
import { createRequire } from 'node:module';
import type * as Chdb from 'chdb';
import { schemaFiles } from '../../../../analytics/store/schema.ts';
import { publicTables } from '../../../../analytics/sql/public-tables.ts';
import { type SqlUser, createStatements, dropStatements, literal } from '../../../../analytics/sql/sql-user.ts';
import type { AccountId } from '../../../../model/ids.ts';

const given = JSON.parse(process.env['TEST_SEED'] ?? '{}') as {
  readonly dataDir: string;
  readonly connectionArgs: string[];
  readonly plan: SqlUser;
  readonly other: AccountId;
  readonly secret: string;
};
const { Session } = createRequire(import.meta.url)('chdb') as typeof Chdb;
const session = new Session(given.dataDir, { connectionArgs: given.connectionArgs });
const run = (sql: string) => session.query(sql, 'TabSeparated');

for (const statement of schemaFiles().flatMap(({ statements }) => statements)) {
  // Those that fill a table from another have nothing to fill it with.
  if (!/\{from_ms\}|^FILL /.test(statement)) run(statement);
}
/** Rows of both accounts in one part, and so in the same granule. */
for (const { name, columns: all } of publicTables) {
  // Computed when it is read.
  const columns = all.filter((column) => column.name !== 'recipient_key');
  const rowsOf = (account: string, mark: string): string => {
    const values = columns.map((column) => {
      if (column.name === 'account_id') return `${literal(account)} AS account_id`;
      if (column.name === 'livemode') return 'true AS livemode';
      if (/^(sms_|message)/.test(name) && column.name === 'messages') return '1 AS messages';
      if (column.name === 'event_id') return "leftPad(toString(number), 26, '0') AS event_id";
      if (column.type === 'String' || column.type === 'LowCardinality(String)') {
        return `concat(${literal(mark)}, toString(number)) AS ${column.name}`;
      }
      if (column.type.startsWith('Array')) return `[${literal(mark)}] AS ${column.name}`;
      return column.type.startsWith('Date') ? `now() AS ${column.name}` : `number AS ${column.name}`;
    });
    return `SELECT ${values.join(', ')} FROM numbers(200)`;
  };
  const rows = `${rowsOf(given.plan.account, 'own')} UNION ALL ${rowsOf(given.other, given.secret)}`;
  run(`INSERT INTO ${name} (${columns.map((each) => each.name).join(', ')}) SELECT * FROM (${rows})`);
}
const parts = session.query(
  "SELECT max(n) FROM (SELECT count() AS n FROM system.parts WHERE active AND database = 'default' AND rows = 400 GROUP BY table) SETTINGS max_threads = 1",
  'TSVRaw',
);
if (String(parts).trim() !== '1') throw new Error(`both accounts must be in one part: ${String(parts)}`);

const statements = [...createStatements(given.plan, '0'.repeat(64), '1'.repeat(64)), ...dropStatements(given.plan)];
// Every statement is one that this version's parser knows.
for (const statement of statements) run(`SELECT formatQuerySingleLine(${literal(statement)})`);
for (const statement of statements.filter((each) => /^CREATE (DATABASE|OR REPLACE VIEW)/.test(each))) run(statement);
session.close();
