// `heliograph dead …`: what the commands are called and take. The work is done in dead.ts, loaded when it is needed.
import type { Command } from 'commander';
import type { DeadDropOptions, DeadListOptions, DeadReplayOptions } from './dead.ts';

export function addDeadCommands(program: Command): void {
  const dead = program.command('dead').description('records nobody could read or handle: the stream DEAD');
  dead
    .command('list')
    .description('what is there, oldest first, and why')
    .option('--stream <stream>', 'only what came from this stream, such as MT_TXN')
    .option('--limit <n>', 'how many (default: 50)')
    .option('--json', 'print one JSON object')
    .action(async (options: DeadListOptions) => {
      const { listDeadCommand } = await import('./dead.ts');
      await listDeadCommand(options);
    });
  dead
    .command('show')
    .description('one record: its reason, its headers and what can be read of it; never a text')
    .argument('<seq>', 'its number, as `dead list` shows it')
    .option('--json', 'print one JSON object')
    .action(async (seq: string, options: { json?: boolean }) => {
      const { showDeadCommand } = await import('./dead.ts');
      await showDeadCommand(seq, options);
    });
  dead
    .command('replay')
    .description('put records back where they came from, when what kept them from being handled is mended')
    .argument('[seq...]', 'their numbers')
    .option('--all', 'everything that is there now')
    .option('--stream <stream>', 'with --all: only what came from this stream')
    .option('--again', 'also what was put back before, without an answer: you know that it did not arrive')
    .option('--json', 'print one JSON object')
    .action(async (seqs: string[], options: DeadReplayOptions) => {
      const { replayDeadCommand } = await import('./dead.ts');
      await replayDeadCommand(seqs, options);
    });
  dead
    .command('drop')
    .description('delete a record for good')
    .argument('<seq>', 'its number')
    .option('--yes', 'it shall really be deleted')
    .option('--json', 'print one JSON object')
    .action(async (seq: string, options: DeadDropOptions) => {
      const { dropDeadCommand } = await import('./dead.ts');
      await dropDeadCommand(seq, options);
    });
}
