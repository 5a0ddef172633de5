// `heliograph audit verify|partitions|detach`: what they are called and take. The work is done in audit-chain.ts, loaded
// when it is needed.
import type { Command } from 'commander';

export function addAuditCommands(audit: Command): void {
  // Options behind a subcommand's name are its own.
  audit.enablePositionalOptions();
  audit
    .command('verify')
    .description('recompute the chain of hashes over all records; names the first one that is not as it was written')
    .option('--expect <heads>', 'ends of the chain that were noted earlier, such as 812:9f2c…,1077:03ab…')
    .option('--json', 'print one JSON object')
    .action(async (options: VerifyOptions) => {
      const { verifyCommand } = await import('./audit-chain.ts');
      process.exitCode = await verifyCommand(options);
    });
  audit
    .command('partitions')
    .description('the months of the audit log, with their rows and sizes')
    .option('--json', 'print one JSON object')
    .action(async (options: { json?: boolean }) => {
      const { partitionsCommand } = await import('./audit-chain.ts');
      await partitionsCommand(options);
    });
  audit
    .command('detach')
    .description('take the oldest month out of the log; its table stays in the database, to be dumped and dropped')
    .argument('<month>', 'such as 2026-08')
    .option('--json', 'print one JSON object')
    .action(async (month: string, options: { json?: boolean }) => {
      const { detachCommand } = await import('./audit-chain.ts');
      await detachCommand(month, options);
    });
}

export type VerifyOptions = { readonly expect?: string; readonly json?: boolean };
