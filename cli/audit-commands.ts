// `heliograph audit verify|partitions|detach`: what they are called and take. The work is done in audit-chain.ts, loaded
// when it is needed. `audit` has a --json of its own, which takes theirs: so they ask for both.
import type { Command } from 'commander';
import type { VerifyOptions } from './audit-chain.ts';

export function addAuditCommands(audit: Command): void {
  audit
    .command('verify')
    .description('recompute the chain of hashes over all records; names the first one that is not as it was written')
    .option('--expect <heads>', 'ends of the chain that were noted earlier, row:hash,row:hash with the whole hashes')
    .option('--json', 'print one JSON object')
    .action(async (_own: VerifyOptions, command: Command) => {
      const { verifyCommand } = await import('./audit-chain.ts');
      process.exitCode = await verifyCommand(command.optsWithGlobals());
    });
  audit
    .command('partitions')
    .description('the months of the audit log, with their rows and sizes')
    .option('--json', 'print one JSON object')
    .action(async (_own: { json?: boolean }, command: Command) => {
      const { partitionsCommand } = await import('./audit-chain.ts');
      await partitionsCommand(command.optsWithGlobals());
    });
  audit
    .command('detach')
    .description('take the oldest month out of the log; its table stays in the database, to be dumped and dropped')
    .argument('<month>', 'such as 2026-08')
    .option('--json', 'print one JSON object')
    .action(async (month: string, _own: { json?: boolean }, command: Command) => {
      const { detachCommand } = await import('./audit-chain.ts');
      await detachCommand(month, command.optsWithGlobals());
    });
}
