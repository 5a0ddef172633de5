// `heliograph carriers …` and `heliograph audit`: what they are called and take. The work is done in carriers.ts and
// audit.ts, loaded when it is needed.
import type { Command } from 'commander';
import { addAuditCommands } from './audit-commands.ts';
import type { CommandVerb } from '../cluster/operator-commands/contract.ts';
import type { AuditOptions } from './audit.ts';
import type { CommandOptions } from './carriers.ts';

const meaning: Record<CommandVerb, string> = {
  pause: 'submit nothing more to a carrier, or over one of its binds; sessions stay and receipts come in',
  drain: 'pause, let what is out be answered, and unbind; stays so until it is resumed',
  resume: 'take a pause or drain back, and try binds again that were given up',
};

export function addCarrierCommands(program: Command): void {
  const carriers = program.command('carriers').description('the carriers of the running system');
  carriers
    .command('list')
    .description('how every carrier and each of its binds is, and what was ordered of it')
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
      .option('--reason <text>', 'why, for the audit log and for who looks next')
      .option('--json', 'print one JSON object')
      .action(async (name: string, options: CommandOptions) => {
        const { issueCommandFromCli } = await import('./carriers.ts');
        await issueCommandFromCli(verb, name, options);
      });
  }

  const audit = program
    .command('audit')
    .description('who changed or ordered what, newest first')
    .option('--target <target>', 'only what was done to this: a carrier with its binds, a bind such as alpha/2, an id')
    .option('--action <action>', 'only this, such as carrier.paused or api_key.created')
    .option('--limit <n>', 'how many (default: 50)')
    .option('--json', 'print one JSON object')
    .action(async (options: AuditOptions) => {
      const { auditCommand } = await import('./audit.ts');
      await auditCommand(options);
    });
  addAuditCommands(audit);
}
