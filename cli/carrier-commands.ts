// Declares `heliograph carriers …`, `heliograph flight` and `heliograph audit …`; carriers.ts, flight.ts, audit.ts and
// audit-chain.ts have the code and are loaded on use.
import type { Command } from 'commander';
import type { CommandVerb } from '../cluster/operator-commands/contract.ts';
import type { AuditOptions } from './audit.ts';
import type { VerifyOptions } from './audit-chain.ts';
import type { FlightOptions } from './flight.ts';
import type { CommandOptions } from './carriers.ts';

const meaning: Record<CommandVerb, string> = {
  pause: 'stop submitting to a carrier, or over one of its binds; sessions stay open and receipts are received',
  drain: 'pause, wait for pending responses, and unbind; in effect until it is resumed',
  resume: 'end a pause or drain, and retry stopped binds',
};

export function addCarrierCommands(program: Command): void {
  const carriers = program.command('carriers').description('the carriers of the running system');
  carriers
    .command('list')
    .description('the state of every carrier and its binds, and the operator commands in effect')
    .argument('[name]', 'of one carrier only')
    .option('--json', 'print one JSON object')
    .action(async (name: string | undefined, options: { json?: boolean }) => {
      const { listCarriers } = await import('./carriers.ts');
      await listCarriers(name, options);
    });
  for (const verb of ['pause', 'drain', 'resume'] as const) {
    carriers
      .command(verb)
      .description(meaning[verb])
      .argument('<name>', 'the carrier')
      .option('--bind <bind>', 'only this bind, as `carriers list` shows it: 2, or alpha/2')
      .option('--reason <text>', 'why, for the audit log and `carriers list`')
      .option('--json', 'print one JSON object')
      .action(async (name: string, options: CommandOptions) => {
        const { issueCommandFromCli } = await import('./carriers.ts');
        await issueCommandFromCli(verb, name, options);
      });
  }

  const audit = program
    .command('audit')
    .description('who changed or commanded what, newest first')
    .option('--target <target>', 'only changes of this: a carrier with its binds, a bind such as alpha/2, an id')
    .option('--action <action>', 'only this, such as carrier.paused or api_key.created')
    .option('--limit <n>', 'how many (default: 50)')
    .option('--json', 'print one JSON object')
    .action(async (options: AuditOptions) => {
      const { auditCommand } = await import('./audit.ts');
      await auditCommand(options);
    });
  addAuditCommands(audit);
  addFlightCommand(program);
}

/** `audit` has its own --json option, which captures theirs: so the actions read both. */
function addAuditCommands(audit: Command): void {
  audit
    .command('verify')
    .description('recompute the hash chain over all records and name the first one that was changed')
    .option('--expect <heads>', 'heads of the chain kept from earlier, row:hash,row:hash with the whole hashes')
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
    .description('detach the oldest month from the log; its table stays in the database, to be dumped and dropped')
    .argument('<month>', 'such as 2026-08')
    .option('--json', 'print one JSON object')
    .action(async (month: string, _own: { json?: boolean }, command: Command) => {
      const { detachCommand } = await import('./audit-chain.ts');
      await detachCommand(month, command.optsWithGlobals());
    });
}

function addFlightCommand(program: Command): void {
  program
    .command('flight')
    .description(
      "a carrier's flight recorder: the last PDUs of its binds, masked, and the decisions with their reasons",
    )
    .argument('<carrier>', 'the carrier')
    .option('--bind <bind>', 'only this bind: 2, or alpha/2')
    .option('--pcap <file>', 'write the PDUs to a capture file for Wireshark or tshark')
    .option('--decisions', 'print the decisions, oldest first')
    .option('--json', 'print one JSON object')
    .action(async (carrier: string, options: FlightOptions) => {
      const { flightCommand } = await import('./flight.ts');
      await flightCommand(carrier, options);
    });
}
