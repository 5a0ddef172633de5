// Every command of `heliograph`, one row each: name, help, arguments, options, and the code it loads. program.ts
// declares them, prints their results, and declares `start`, `smsc` and `listen`.
import { rolesBuilt } from '../config/settings.ts';
import { reports } from '../analytics/reports/catalogue.ts';
import { limits } from '../platform/limits.ts';
import type { CommandRow } from './command-row.ts';
import { otpCommands } from './otp-commands.ts';
import { reportOptions } from './report-options.ts';

export const groups: Readonly<Record<string, string>> = {
  accounts: 'accounts of the running system',
  senders: 'senders that clients registered',
  templates: 'templates that clients registered',
  carriers: 'the carriers of the running system',
  dead: 'the dead-letter stream DEAD: records that could not be read or handled',
  directory: 'the accounts and keys of all entry points',
  keys: 'API keys of the running system',
  dnd: 'do-not-disturb registry of the running system',
  otp: 'one-time passwords of an account',
  'otp-guard': 'the guard against fraud with one-time passwords: blocks and safe list of an account',
  'sql-user': 'SQL users of accounts on your ClickHouse server',
  ported: 'registry of ported numbers of the running system',
};
const account = { '<id>': 'the account (acc_…)' };

export const commands: Readonly<Record<string, CommandRow>> = {
  doctor: {
    help: 'check runtime, settings, configuration, ports, servers and carriers, and say what to do',
    takes: {
      '--carrier <name>': 'only this carrier: binds to it as configured, and unbinds; nothing is sent',
      '--force': 'bind also where the running system has the bind',
    },
    exits: true,
    load: async () => (await import('./doctor.ts')).doctorCommand,
  },
  erase: {
    help: 'remove everything about a subscriber’s number; the person stays suppressed where they are (docs/retention.md)',
    requires: { '--number <number>': 'the number, such as +8801712345678' },
    takes: {
      '--account <id>': 'only what this account has (default: every account)',
      '--yes': 'confirm the deletion',
    },
    load: async () => (await import('./erase.ts')).eraseCommand,
  },
  'accounts create': {
    help: 'create an account',
    requires: { '--name <name>': 'its name, for display' },
    load: async () => (await import('./tenants.ts')).createAccountCommand,
  },
  'accounts list': {
    help: 'every account',
    load: async () => (await import('./tenants.ts')).listAccountsCommand,
  },
  'accounts limit': {
    help: 'set what an account may: its request rate, idempotency keys, weight in the lanes and codes of four or five digits; without options: show them',
    takes: {
      ...account,
      '--per-second <n>': 'requests a second, or none',
      '--burst <n>': 'requests at once after a pause (default: the value of --per-second)',
      '--idempotency-keys-per-hour <n>': 'idempotency keys an hour, or default',
      '--weight <n>': 'its weight against other accounts that wait for the same carrier, 1 to 100, or default',
      '--otp-short-codes <yes|no>': 'whether its one-time passwords may have four or five digits',
    },
    load: async () => (await import('./account-settings.ts')).limitAccount,
  },
  'accounts networks': {
    help: 'set the networks from which the keys of an account may be used; without options: show them',
    takes: { ...account, '--allow <list>': 'networks such as 203.0.113.0/24,2001:db8::/32, or any' },
    load: async () => (await import('./account-settings.ts')).accountNetworks,
  },
  'accounts resend': {
    help: 'set which messages are resent when it is unknown whether the carrier took them; without options: show it',
    takes: { ...account, '--categories <list>': 'such as otp,transactional, or none' },
    load: async () => (await import('./account-settings.ts')).resendUnknown,
  },
  'accounts inbound': {
    help: 'set how messages from subscribers are handled; without options: show it',
    takes: {
      ...account,
      '--keep-text <yes|no>': 'whether their texts are kept, encrypted, for retention.inbound_text_days',
      '--help-text <text>': 'the reply to HELP, or none for the country’s',
    },
    load: async () => (await import('./account-settings.ts')).setInbound,
  },
  'accounts suspend': {
    help: 'stop sending for an account, including messages that wait',
    takes: account,
    load: async () => (await import('./tenants.ts')).accountStatusCommand('suspended'),
  },
  'accounts activate': {
    help: 'resume sending for an account',
    takes: account,
    load: async () => (await import('./tenants.ts')).accountStatusCommand('active'),
  },
  ...reviewCommands('senders', 'snd_…', { '--categories <list>': 'only for these, such as otp,transactional' }),
  ...reviewCommands('templates', 'tpl_…', {}),
  'carriers list': {
    help: 'the state of every carrier and its binds, and the operator commands in effect',
    takes: { '[name]': 'of one carrier only' },
    load: async () => (await import('./carriers.ts')).listCarriers,
  },
  'carriers pause': carrierCommand(
    'pause',
    'stop submitting to a carrier, or over one of its binds; sessions stay open and receipts are received',
  ),
  'carriers drain': carrierCommand(
    'drain',
    'pause, wait for pending responses, and unbind; in effect until it is resumed',
  ),
  'carriers resume': carrierCommand('resume', 'end a pause or drain, and retry stopped binds'),
  audit: {
    help: 'who changed or commanded what, newest first',
    takes: {
      '--target <target>': 'only changes of this: a carrier with its binds, a bind such as alpha/2, an id',
      '--action <action>': 'only this, such as carrier.paused or api_key.created',
      '--limit <n>': 'how many, up to 1000 (default: 50)',
    },
    load: async () => (await import('./audit.ts')).auditCommand,
  },
  'audit verify': {
    help: 'recompute the hash chain over all records and name the first one that was changed',
    takes: { '--expect <heads>': 'heads of the chain saved earlier, row:hash,row:hash with full hashes' },
    load: async () => (await import('./audit.ts')).verifyCommand,
  },
  'audit partitions': {
    help: 'the months of the audit log, with their rows and sizes',
    load: async () => (await import('./audit.ts')).partitionsCommand,
  },
  'audit detach': {
    help: 'detach the oldest month from the log; its table stays in the database, to be dumped and dropped',
    takes: { '<month>': 'such as 2026-08' },
    load: async () => (await import('./audit.ts')).detachCommand,
  },
  flight: {
    help: "a carrier's flight recorder: the last PDUs of its binds, masked, and the decisions with their reasons",
    takes: {
      '<carrier>': 'the carrier',
      '--bind <bind>': 'only this bind: 2, or alpha/2',
      '--pcap <file>': 'write the PDUs to a capture file for Wireshark or tshark',
      '--decisions': 'print the decisions, oldest first',
    },
    load: async () => (await import('./flight.ts')).flightCommand,
  },
  'dead list': {
    help: 'list the records, oldest first, with the reason',
    takes: {
      '--stream <stream>': 'only records from this stream, such as MT_TXN',
      '--limit <n>': 'how many (default: 50)',
    },
    load: async () => (await import('./dead.ts')).listDeadCommand,
  },
  'dead show': {
    help: 'one record: its reason, its headers and its readable fields; never a text',
    takes: { '<seq>': 'its number, as `dead list` shows it' },
    load: async () => (await import('./dead.ts')).showDeadCommand,
  },
  'dead replay': {
    help: 'publish records again to their original subject, after the cause is fixed',
    takes: {
      '[seq...]': 'their numbers',
      '--all': 'all records that DEAD holds now',
      '--stream <stream>': 'with --all: only records from this stream',
      '--again': 'also records replayed before without an acknowledgement: you know that they did not arrive',
    },
    load: async () => (await import('./dead.ts')).replayDeadCommand,
  },
  'dead drop': {
    help: 'delete a record for good',
    takes: { '<seq>': 'its number', '--yes': 'confirm the deletion' },
    load: async () => (await import('./dead.ts')).dropDeadCommand,
  },
  'directory owner': {
    help: 'show the PostgreSQL database it is projected from',
    load: async () => (await import('./directory.ts')).ownerCommand,
  },
  'directory release': {
    help: 'release it for another PostgreSQL database, when its own is lost for good',
    takes: { '--yes': 'confirm that you know the consequences' },
    load: async () => (await import('./directory.ts')).releaseCommand,
  },
  'keys create': {
    help: 'create an API key; it is shown only once',
    requires: { '--account <id>': 'the account it belongs to (acc_…)' },
    takes: {
      '--test': 'a test key: everything goes to the sandbox carrier',
      '--scopes <scopes>': 'comma-separated (default: all of an account; carriers:… and audit:read only when named)',
      '--description <text>': 'what it is for',
    },
    load: async () => (await import('./tenants.ts')).createKeyCommand,
  },
  'keys demo': {
    help: 'print the live key of the demo account that the first start made',
    takes: { '--test': 'its test key' },
    load: async () => (await import('./tenants.ts')).demoKeyCommand,
  },
  'keys list': {
    help: "an account's API keys; the keys themselves are not kept",
    requires: { '--account <id>': 'the account (acc_…)' },
    load: async () => (await import('./tenants.ts')).listKeysCommand,
  },
  'keys revoke': {
    help: 'end an API key; every ingress refuses it within a second',
    takes: { '<id>': 'the key (key_…)' },
    load: async () => (await import('./tenants.ts')).revokeKeyCommand,
  },
  'keys rotate-body': {
    help: 'add a new first key for the bodies stored on the bus; in effect at the next start',
    load: async () => (await import('./rotate-body.ts')).rotateBodyCommand,
  },
  'nats-permissions': {
    help: 'print the permissions of each role as configuration for your own nats-server',
    takes: { '--roles <roles>': `one user for a machine with these roles, of ${rolesBuilt.join(', ')}` },
    load: async () => (await import('./nats-permissions.ts')).natsPermissionsCommand,
  },
  ...otpCommands,
  phone: {
    help: 'the last texts that the simulated carriers of the running system delivered, such as codes and short links, newest last',
    takes: {
      '[number]': 'only to this number, such as +8801712345678',
      '--carrier <name>': 'only by this carrier',
      '--limit <n>': 'how many, up to 1000 (default: 20)',
    },
    load: async () => (await import('./phone.ts')).phoneCommand,
  },
  report: {
    help: `a report of one account, or of each account (--group-by account): ${reports.map(({ name }) => name).join(', ')}`,
    takes: {
      '<name>': 'the report',
      '--account <id>': 'whose (acc_…); may be left out with --group-by account',
      '--test': 'of test messages',
      '--from <time>': 'from when on: 2026-01-31, or a time with its offset (default: the midnight six days before)',
      '--to <time>': 'until when (default: the end of the current half hour)',
      '--time-zone <name>': 'of days and hours, such as Asia/Kolkata (default: UTC)',
      ...reportOptions(),
      '--format <format>': 'csv or parquet: a file on standard output',
    },
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
  ...registryCommands('dnd', 'do-not-disturb registry', 'CSV, also gzipped: number[,preferences]'),
  ...registryCommands('ported', 'registry of ported numbers', 'CSV, also gzipped: number,carrier'),
};

function reviewCommands(
  noun: 'senders' | 'templates',
  id: string,
  approves: Record<string, string>,
): Record<string, CommandRow> {
  return {
    [`${noun} list`]: {
      help: `list ${noun}, newest first`,
      takes: {
        '--status <status>': 'pending, approved or rejected (default: pending)',
        '--account <id>': 'of one account only (acc_…)',
      },
      load: async () => (await import('./review.ts')).listForReview(noun),
    },
    [`${noun} approve`]: {
      help: `approve one of the ${noun}; in effect everywhere within a second`,
      takes: { '<id>': id, ...approves },
      load: async () => (await import('./review.ts')).review(noun, 'approved'),
    },
    [`${noun} reject`]: {
      help: `reject one of the ${noun}; messages that use it are refused within a second`,
      takes: { '<id>': id, '--note <text>': 'why, shown to the account (templates)' },
      load: async () => (await import('./review.ts')).review(noun, 'rejected'),
    },
  };
}

function carrierCommand(verb: 'pause' | 'drain' | 'resume', help: string): CommandRow {
  return {
    help,
    takes: {
      '<name>': 'the carrier',
      '--bind <bind>': 'only this bind, as `carriers list` shows it: 2, or alpha/2',
      '--reason <text>': 'why, for the audit log and `carriers list`',
    },
    load: async () => (await import('./carriers.ts')).issueCommandFromCli(verb),
  };
}

function registryCommands(name: 'dnd' | 'ported', what: string, file: string): Record<string, CommandRow> {
  return {
    [`${name} import`]: {
      help: `put a new version of the ${what} in effect on all nodes; an interrupted import continues`,
      takes: {
        '<file>': file,
        '--delta': 'the rows are changes: + or - in a column before the number (default: a full snapshot)',
        '--bad-rows-max <n>': `stop after more unreadable rows than this (default: ${limits.registry.badRowsMax})`,
        '--allow-shrink': 'a snapshot may have less than half of the numbers in effect',
      },
      load: async () => (await import('./registry.ts')).importCommand(name),
    },
    [`${name} check`]: {
      help: 'show whether a number is listed in the version in effect, and how',
      takes: { '<number>': 'E.164 with the plus sign' },
      load: async () => (await import('./registry.ts')).checkCommand(name),
    },
    [`${name} status`]: {
      help: 'show the version in effect',
      load: async () => (await import('./registry.ts')).statusCommand(name),
    },
  };
}

function sqlUserCommand(verb: 'create' | 'rotate' | 'drop', help: string): CommandRow {
  return {
    help,
    requires: { '--account <id>': 'the account (acc_…)' },
    load: async () => (await import('./sql-user.ts')).changeSqlUser(verb),
  };
}
