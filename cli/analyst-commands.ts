// The commands that read what the event store has: reports, and SQL users of accounts.
import { reports } from '../analytics/reports/catalogue.ts';
import type { CommandRow } from './command-row.ts';

export const analystCommands: Readonly<Record<string, CommandRow>> = {
  report: {
    help: `a report of an account: ${reports.map(({ name }) => name).join(', ')}`,
    takes: {
      '<name>': 'the report',
      '--test': 'of test messages',
      '--from <time>': 'from when on: 2026-01-31, or a time with its offset (default: six days before)',
      '--to <time>': 'until when (default: now)',
      '--time-zone <name>': 'of days and hours, such as Asia/Kolkata (default: UTC)',
      '--group-by <names>': 'up to two of hour, day, carrier, category, sender',
      '--carrier <name>': 'only of this carrier',
      '--category <name>': 'only of this category',
      '--sender <name>': 'only of this sender',
      '--classes <names>': 'of the report clicks: some of human, preview, scanner, unknown (default: human)',
      '--prefix <digits>': 'of one-time passwords: only numbers with this prefix (without the last six digits)',
      '--language <name>': 'of one-time passwords: only with a text in this language',
      '--purpose <name>': 'of one-time passwords: only of this purpose',
      '--format <format>': 'csv or parquet: a file on standard output',
    },
    requires: { '--account <id>': 'the account (acc_…)' },
    load: async () => (await import('./report.ts')).reportCommand,
  },
  'sql-user create': sqlUserCommand(
    'create',
    'create the read-only SQL user of an account on the ClickHouse server; shows its password once',
  ),
  'sql-user rotate': sqlUserCommand(
    'rotate',
    'give the SQL user of an account a new password, and the tables of this version',
  ),
  'sql-user drop': sqlUserCommand('drop', 'remove the SQL user of an account with everything made for it'),
  'sql-user list': {
    help: 'the SQL users of the ClickHouse server',
    load: async () => (await import('./sql-user.ts')).listSqlUsers,
  },
};

function sqlUserCommand(verb: 'create' | 'rotate' | 'drop', help: string): CommandRow {
  return {
    help,
    requires: { '--account <id>': 'the account (acc_…)' },
    load: async () => (await import('./sql-user.ts')).changeSqlUser(verb),
  };
}
