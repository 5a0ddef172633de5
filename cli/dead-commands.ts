// Declares `heliograph dead …`; dead.ts has the code and is loaded on use.
import type { Command } from 'commander';
import type { DeadDropOptions, DeadListOptions, DeadReplayOptions } from './dead.ts';

export function addDeadCommands(program: Command): void {
  const dead = program
    .command('dead')
    .description('the dead-letter stream DEAD: records that could not be read or handled');
  dead
    .command('list')
    .description('list the records, oldest first, with the reason')
    .option('--stream <stream>', 'only records from this stream, such as MT_TXN')
    .option('--limit <n>', 'how many (default: 50)')
    .option('--json', 'print one JSON object')
    .action(async (options: DeadListOptions) => {
      const { listDeadCommand } = await import('./dead.ts');
      await listDeadCommand(options);
    });
  dead
    .command('show')
    .description('one record: its reason, its headers and its readable fields; never a text')
    .argument('<seq>', 'its number, as `dead list` shows it')
    .option('--json', 'print one JSON object')
    .action(async (seq: string, options: { json?: boolean }) => {
      const { showDeadCommand } = await import('./dead.ts');
      await showDeadCommand(seq, options);
    });
  dead
    .command('replay')
    .description('publish records to their original subject again, after the cause is fixed')
    .argument('[seq...]', 'their numbers')
    .option('--all', 'all records that DEAD holds now')
    .option('--stream <stream>', 'with --all: only records from this stream')
    .option('--again', 'also records replayed before without an acknowledgement: you know that they did not arrive')
    .option('--json', 'print one JSON object')
    .action(async (seqs: string[], options: DeadReplayOptions) => {
      const { replayDeadCommand } = await import('./dead.ts');
      await replayDeadCommand(seqs, options);
    });
  dead
    .command('drop')
    .description('delete a record for good')
    .argument('<seq>', 'its number')
    .option('--yes', 'confirm the deletion')
    .option('--json', 'print one JSON object')
    .action(async (seq: string, options: DeadDropOptions) => {
      const { dropDeadCommand } = await import('./dead.ts');
      await dropDeadCommand(seq, options);
    });
}
