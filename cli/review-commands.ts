// The operator's words about tenants: senders and templates are approved or rejected, accounts limited, suspended and
// activated. What the commands are called and take; the work is done in review.ts, loaded when it is needed.
import type { Command } from 'commander';
import type { InboundOptions } from './inbound.ts';
import type { LimitOptions } from './review.ts';

export function addReviewCommands(program: Command, accounts: Command): void {
  for (const [noun, id] of [
    ['senders', 'snd_…'],
    ['templates', 'tpl_…'],
  ] as const) {
    const group = program.command(noun).description(`${noun} that clients asked for`);
    group
      .command('list')
      .description(`list ${noun}, newest first`)
      .option('--status <status>', 'pending, approved or rejected (default: pending)')
      .option('--account <id>', 'of one account only (acc_…)')
      .option('--json', 'print one JSON object')
      .action(async (options: { status?: string; account?: string; json?: boolean }) => {
        const { listForReview } = await import('./review.ts');
        await listForReview(noun, options);
      });
    const approve = group
      .command('approve')
      .description(`approve one of the ${noun}; in effect everywhere within a second`)
      .argument('<id>', id)
      .option('--json', 'print one JSON object');
    if (noun === 'senders') approve.option('--categories <list>', 'only for these, such as otp,transactional');
    approve.action(async (of: string, options: { categories?: string; json?: boolean }) => {
      const { review } = await import('./review.ts');
      await review(noun, of, 'approved', options);
    });
    group
      .command('reject')
      .description(`reject one of the ${noun}; messages that use it are refused within a second`)
      .argument('<id>', id)
      .option('--note <text>', 'why, for the account to read (templates)')
      .option('--json', 'print one JSON object')
      .action(async (of: string, options: { note?: string; json?: boolean }) => {
        const { review } = await import('./review.ts');
        await review(noun, of, 'rejected', options);
      });
  }

  accounts
    .command('limit')
    .description('set how fast an account may ask, and its share of what is sent; without options: show it')
    .argument('<id>', 'the account (acc_…)')
    .option('--per-second <n>', 'requests a second, or none')
    .option('--burst <n>', 'requests at once after a pause (default: as many as per second)')
    .option('--idempotency-keys-per-hour <n>', 'idempotency keys an hour, or default')
    .option('--weight <n>', 'its share beside other accounts that wait for the same carrier, 1 to 100, or default')
    .option('--json', 'print one JSON object')
    .action(async (id: string, options: LimitOptions) => {
      const { limitAccount } = await import('./review.ts');
      await limitAccount(id, options);
    });
  accounts
    .command('networks')
    .description('set from where the keys of an account may be used; without options: show it')
    .argument('<id>', 'the account (acc_…)')
    .option('--allow <list>', 'networks such as 203.0.113.0/24,2001:db8::/32, or any')
    .option('--json', 'print one JSON object')
    .action(async (id: string, options: { allow?: string; json?: boolean }) => {
      const { accountNetworks } = await import('./review.ts');
      await accountNetworks(id, options);
    });
  accounts
    .command('resend')
    .description('set what is sent once more when nobody knows whether its carrier took it; without options: show it')
    .argument('<id>', 'the account (acc_…)')
    .option('--categories <list>', 'such as otp,transactional, or none')
    .option('--json', 'print one JSON object')
    .action(async (id: string, options: { categories?: string; json?: boolean }) => {
      const { resendUnknown } = await import('./review.ts');
      await resendUnknown(id, options);
    });
  accounts
    .command('inbound')
    .description('set what becomes of messages from subscribers; without options: show it')
    .argument('<id>', 'the account (acc_…)')
    .option('--keep-text <yes-or-no>', 'whether what they write is kept, encrypted, as long as its history')
    .option('--help-text <text>', 'the answer to HELP, or none for the country’s')
    .option('--json', 'print one JSON object')
    .action(async (id: string, options: InboundOptions) => {
      const { setInbound } = await import('./inbound.ts');
      await setInbound(id, options);
    });
  for (const verb of ['suspend', 'activate'] as const) {
    accounts
      .command(verb)
      .description(
        verb === 'suspend' ? 'send nothing more for an account, not even what waits' : 'let an account send again',
      )
      .argument('<id>', 'the account (acc_…)')
      .option('--json', 'print one JSON object')
      .action(async (id: string, options: { json?: boolean }) => {
        const { setAccountStatus } = await import('./review.ts');
        await setAccountStatus(id, verb, options);
      });
  }
}
