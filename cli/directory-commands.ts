// `heliograph directory …`: whose accounts and keys the running system knows. The work is a record in the bucket, see
// control/projection/owner.ts.
import type { Command } from 'commander';
import type { DirectoryOptions } from './directory.ts';

export function addDirectoryCommands(program: Command): void {
  const directory = program.command('directory').description('what all entry points know of accounts and keys');
  directory
    .command('owner')
    .description('which PostgreSQL it is made from')
    .option('--json', 'print one JSON object')
    .action(async (options: DirectoryOptions) => {
      const { ownerCommand } = await import('./directory.ts');
      await ownerCommand(options);
    });
  directory
    .command('release')
    .description('give it free for another PostgreSQL, when the one it was made from is gone for good')
    .option('--yes', 'you have read what comes of it')
    .option('--json', 'print one JSON object')
    .action(async (options: DirectoryOptions) => {
      const { releaseCommand } = await import('./directory.ts');
      await releaseCommand(options);
    });
}
