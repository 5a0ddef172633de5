// Declares the operator's commands about tenants: senders and templates are approved or rejected, accounts limited,
// suspended and activated. review.ts has the code and is loaded on use.
import type { Command } from 'commander';
import type { InboundOptions } from './inbound.ts';
import type { LimitOptions } from './review.ts';

export function addReviewCommands(program: Command, accounts: Command): void {
  for (const [noun, id] of [
    ['senders', 'snd_…'],
    ['templates', 'tpl_…'],
  ] as const) {
    const group = program.command(noun).description(`${noun} that clients registered`);
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
      .option('--note <text>', 'why, shown to the account (templates)')
      .option('--json', 'print one JSON object')
      .action(async (of: string, options: { note?: string; json?: boolean }) => {
        const { review } = await import('./review.ts');
        await review(noun, of, 'rejected', options);
      });
  }

  accounts
    .command('limit')
    .description('set the request rate of an account and its weight in the lanes; without options: show them')
    .argument('<id>', 'the account (acc_…)')
    .option('--per-second <n>', 'requests a second, or none')
    .option('--burst <n>', 'requests at once after a pause (default: as many as per second)')
    .option('--idempotency-keys-per-hour <n>', 'idempotency keys an hour, or default')
    .option('--weight <n>', 'its weight beside other accounts that wait for the same carrier, 1 to 100, or default')
    .option('--json', 'print one JSON object')
    .action(async (id: string, options: LimitOptions) => {
      const { limitAccount } = await import('./review.ts');
      await limitAccount(id, options);
    });
  accounts
    .command('networks')
    .description('set the networks from which the keys of an account may be used; without options: show them')
    .argument('<id>', 'the account (acc_…)')
    .option('--allow <list>', 'networks such as 203.0.113.0/24,2001:db8::/32, or any')
    .option('--json', 'print one JSON object')
    .action(async (id: string, options: { allow?: string; json?: boolean }) => {
      const { accountNetworks } = await import('./review.ts');
      await accountNetworks(id, options);
    });
  accounts
    .command('resend')
    .description(
      'set which messages are resent when it is unknown whether the carrier took them; without options: show it',
    )
    .argument('<id>', 'the account (acc_…)')
    .option('--categories <list>', 'such as otp,transactional, or none')
    .option('--json', 'print one JSON object')
    .action(async (id: string, options: { categories?: string; json?: boolean }) => {
      const { resendUnknown } = await import('./review.ts');
      await resendUnknown(id, options);
    });
  accounts
    .command('inbound')
    .description('set how messages from subscribers are handled; without options: show it')
    .argument('<id>', 'the account (acc_…)')
    .option('--keep-text <yes-or-no>', 'whether their texts are kept, encrypted, as long as the history')
    .option('--help-text <text>', 'the reply to HELP, or none for the country’s')
    .option('--json', 'print one JSON object')
    .action(async (id: string, options: InboundOptions) => {
      const { setInbound } = await import('./inbound.ts');
      await setInbound(id, options);
    });
  for (const verb of ['suspend', 'activate'] as const) {
    accounts
      .command(verb)
      .description(
        verb === 'suspend'
          ? 'stop sending for an account, including messages that wait'
          : 'resume sending for an account',
      )
      .argument('<id>', 'the account (acc_…)')
      .option('--json', 'print one JSON object')
      .action(async (id: string, options: { json?: boolean }) => {
        const { setAccountStatus } = await import('./review.ts');
        await setAccountStatus(id, verb, options);
      });
  }
}
