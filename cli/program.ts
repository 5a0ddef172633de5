// Declares the commands of `heliograph`. Their code is in the files beside it, loaded only for the command that needs
// it, so that each starts fast.
import { Command } from 'commander';
import { addCarrierCommands } from './carrier-commands.ts';
import { addDeadCommands } from './dead-commands.ts';
import type { DirectoryOptions } from './directory.ts';
import { addReviewCommands } from './review-commands.ts';
import type { RegistryName } from '../policy/registry/contract.ts';
import type { NatsPermissionsOptions } from './nats-permissions.ts';
import type { ImportOptions } from './registry.ts';

export const program = new Command('heliograph')
  .description('Self-hosted business messaging: OTP and campaign SMS over HTTP and SMPP, straight to the carriers')
  .exitOverride()
  .showHelpAfterError('(add --help for the options)');

program
  .command('start')
  .description('install missing parts and run the system in the foreground')
  .option('--roles <roles>', 'only these of ingress, carriers, analytics, control (default: all)')
  .action(async (options: { roles?: string }) => {
    const { start } = await import('../cluster/main.ts');
    process.exit(await start(options));
  });

program
  .command('doctor')
  .description('check runtime, settings, configuration, ports, servers and carriers, and say what to do')
  .option('--carrier <name>', 'only this carrier: binds to it as configured, and unbinds; nothing is sent')
  .option('--force', 'bind also where the running system has the bind')
  .option('--json', 'print one JSON object')
  .action(async (options: { json?: boolean; carrier?: string; force?: boolean }) => {
    const { runDoctor } = await import('./doctor.ts');
    process.exit(await runDoctor(options));
  });

const accounts = program.command('accounts').description('accounts of the running system');
accounts
  .command('create')
  .description('make an account')
  .requiredOption('--name <name>', 'its name, for display')
  .option('--json', 'print one JSON object')
  .action(async (options: { name: string; json?: boolean }) => {
    const { createAccountCommand } = await import('./tenants.ts');
    await createAccountCommand(options);
  });

accounts
  .command('list')
  .description('every account')
  .option('--json', 'print one JSON object')
  .action(async (options: { json?: boolean }) => {
    const { listAccountsCommand } = await import('./tenants.ts');
    await listAccountsCommand(options);
  });

addReviewCommands(program, accounts);
addCarrierCommands(program);
addDeadCommands(program);

const directory = program.command('directory').description('the accounts and keys of all entry points');
directory
  .command('owner')
  .description('the PostgreSQL database it is projected from')
  .option('--json', 'print one JSON object')
  .action(async (options: DirectoryOptions) => {
    const { ownerCommand } = await import('./directory.ts');
    await ownerCommand(options);
  });
directory
  .command('release')
  .description('release it for another PostgreSQL database, when its own is lost for good')
  .option('--yes', 'confirm that you know the consequences')
  .option('--json', 'print one JSON object')
  .action(async (options: DirectoryOptions) => {
    const { releaseCommand } = await import('./directory.ts');
    await releaseCommand(options);
  });

const keys = program.command('keys').description('API keys of the running system');
keys
  .command('create')
  .description('make an API key; it is shown this once')
  .requiredOption('--account <id>', 'the account it belongs to (acc_…)')
  .option('--test', 'a test key: everything goes to the sandbox carrier')
  .option(
    '--scopes <scopes>',
    'comma-separated (default: all of an account; carriers:… and audit:read only when named)',
  )
  .option('--description <text>', 'what it is for')
  .option('--json', 'print one JSON object')
  .action(
    async (options: { account: string; test?: boolean; scopes?: string; description?: string; json?: boolean }) => {
      const { createKeyCommand } = await import('./tenants.ts');
      await createKeyCommand(options);
    },
  );
keys
  .command('demo')
  .description('print the live key of the demo account that the first start made')
  .option('--test', 'its test key')
  .option('--json', 'print one JSON object')
  .action(async (options: { test?: boolean; json?: boolean }) => {
    const { demoKeyCommand } = await import('./demo-key.ts');
    demoKeyCommand(options);
  });
keys
  .command('list')
  .description("an account's API keys; the keys themselves are not kept")
  .requiredOption('--account <id>', 'the account (acc_…)')
  .option('--json', 'print one JSON object')
  .action(async (options: { account: string; json?: boolean }) => {
    const { listKeysCommand } = await import('./tenants.ts');
    await listKeysCommand(options);
  });
keys
  .command('revoke')
  .description('end an API key; every ingress refuses it within a second')
  .argument('<id>', 'the key (key_…)')
  .option('--json', 'print one JSON object')
  .action(async (id: string, options: { json?: boolean }) => {
    const { revokeKeyCommand } = await import('./tenants.ts');
    await revokeKeyCommand(id, options);
  });

keys
  .command('rotate-body')
  .description('add a new first key for the bodies stored on the bus; in effect at the next start')
  .option('--json', 'print one JSON object')
  .action(async (options: { json?: boolean }) => {
    const { rotateBodyCommand } = await import('./rotate-body.ts');
    await rotateBodyCommand(options);
  });

program
  .command('nats-permissions')
  .description('print the permissions of each role as configuration for your own nats-server')
  .option('--roles <roles>', 'one user for a machine with these roles: ingress,carriers,control,analytics')
  .option('--json', 'print one JSON object')
  .action(async (options: NatsPermissionsOptions) => {
    const { natsPermissionsCommand } = await import('./nats-permissions.ts');
    natsPermissionsCommand(options);
  });

program
  .command('smsc')
  .description('run the bundled SMSC simulator alone (smsc --help for its options)')
  .helpOption(false)
  .allowUnknownOption()
  .argument('[options...]')
  .action(async () => {
    const { runSimulatorCommand } = await import('../smpp/simulator/command.ts');
    await runSimulatorCommand(process.argv.slice(process.argv.indexOf('smsc') + 1));
  });

registryCommands('dnd', 'do-not-disturb registry', 'CSV, also gzipped: number[,preferences]');
registryCommands('ported', 'registry of ported numbers', 'CSV, also gzipped: number,carrier');

function registryCommands(name: RegistryName, what: string, file: string): void {
  const registry = program.command(name).description(`${what} of the running system`);
  registry
    .command('import')
    .description(`put a new version of the ${what} in effect on all nodes; an interrupted import continues`)
    .argument('<file>', file)
    .option('--delta', 'the rows are changes: + or - in a column before the number (default: a full snapshot)')
    .option('--bad-rows-max <n>', 'stop after more unreadable rows than this')
    .option('--allow-shrink', 'a snapshot may have less than half of the numbers in effect')
    .option('--json', 'print one JSON object')
    .action(async (path: string, options: ImportOptions) => {
      const { importCommand } = await import('./registry.ts');
      await importCommand(name, path, options);
    });
  registry
    .command('check')
    .description('whether a number is listed in the version in effect, and as what')
    .argument('<number>', 'E.164 with the plus sign')
    .option('--json', 'print one JSON object')
    .action(async (number: string, options: { json?: boolean }) => {
      const { checkCommand } = await import('./registry.ts');
      await checkCommand(name, number, options);
    });
  registry
    .command('status')
    .description('which version is in effect')
    .option('--json', 'print one JSON object')
    .action(async (options: { json?: boolean }) => {
      const { statusCommand } = await import('./registry.ts');
      await statusCommand(name, options);
    });
}
