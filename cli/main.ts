// The command line `heliograph`: runs the command and prints a SetupError as its message, without a stack.
import { CommanderError } from 'commander';
import { printable } from '../model/plain-text.ts';
import { SetupError } from '../platform/errors.ts';
import { keepFilesPrivate } from '../platform/private-files.ts';
import { program } from './program.ts';

keepFilesPrivate();

try {
  await program.parseAsync();
} catch (error) {
  // Commander has printed its own message or help.
  if (error instanceof CommanderError) process.exit(error.exitCode);
  if (!(error instanceof SetupError)) throw error;
  process.stderr.write(`${error.message.split('\n').map(printable).join('\n')}\n`);
  process.exit(1);
}
