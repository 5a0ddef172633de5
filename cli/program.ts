// Declares the commands of `heliograph` from their table (commands.ts), runs one and prints what it returns.
import { Command, InvalidArgumentError, Option } from 'commander';
import { rolesBuilt } from '../config/settings.ts';
import type { CommandRow } from './command-row.ts';
import { commands, groups } from './commands.ts';
import type { ListenOptions } from './listen.ts';
import { type Result, print } from './print.ts';

export const program = new Command('heliograph')
  .description('Self-hosted business messaging: OTP and campaign SMS over HTTP and SMPP, straight to the carriers')
  .exitOverride()
  .showHelpAfterError('(add --help for the options)');

program
  .command('start')
  .description('install missing parts and run the system in the foreground')
  .addOption(once('--roles <roles>', `only these of ${rolesBuilt.join(', ')} (default: all)`))
  .action(async (options: { roles?: string }) => {
    const { start } = await import('../cluster/main.ts');
    process.exit(await start(options));
  });
for (const [name, row] of Object.entries(commands)) declare(name, row);
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

program
  .command('listen')
  .description("print the events of an account's test messages as they happen, and forward them to a URL")
  .addOption(
    once('--forward-to <url>', 'send each one there, signed as a webhook, such as http://localhost:3000/webhooks'),
  )
  .addOption(once('--events <types>', 'only these, such as sms.delivered,sms.received (default: all)'))
  .addOption(once('--key <key>', 'a test key (default: HELIOGRAPH_API_KEY, or the test key of the demo account)'))
  .addOption(once('--api <url>', 'where the API is, without a path (default: on this machine)'))
  .addOption(once('--secret <secret>', 'sign with this one (default: a new one, printed to standard error)'))
  .option('--json', 'print one JSON object for each event, with the answer of the URL in `forwarded`')
  .action(async (options: ListenOptions) => {
    process.once('SIGINT', () => process.exit(0)).once('SIGTERM', () => process.exit(0));
    await (await import('./listen.ts')).listen(options);
  });

function declare(fullName: string, row: CommandRow): void {
  const [name = '', group] = fullName.split(' ').reverse();
  const command = (group === undefined ? program : groupOf(group)).command(name).description(row.help);
  for (const [flags, help] of Object.entries(row.requires ?? {}))
    command.addOption(once(flags, `${help} (required)`).makeOptionMandatory());
  for (const [flags, help] of Object.entries(row.takes ?? {})) {
    if (flags.startsWith('--')) command.addOption(once(flags, help));
    else command.argument(flags, help);
  }
  command.option('--json', 'print one JSON object').action(() => run(row, command));
}

/** An option whose value is given once: of two, none is dropped in silence. */
function once(flags: string, help: string): Option {
  return new Option(flags, help).argParser((value, before: unknown) => {
    if (before !== undefined) throw new InvalidArgumentError('It must be given only once.');
    return value;
  });
}

/** Declared with its first command; `audit` is itself a command. */
function groupOf(name: string): Command {
  const found = program.commands.find((command) => command.name() === name);
  return found ?? program.command(name).description(groups[name] ?? '');
}

async function run({ load, exits = false }: CommandRow, command: Command): Promise<void> {
  const perform = (await load()) as (...given: unknown[]) => Promise<Result> | Result;
  // An option of the group with the same name, such as `audit --json`, captures that of its command.
  const options = command.optsWithGlobals<{ json?: boolean }>();
  const result = await perform(...command.processedArgs, options);
  print(result, options.json === true);
  if (result.exitCode !== undefined) process.exitCode = result.exitCode;
  if (exits) process.exit();
}
