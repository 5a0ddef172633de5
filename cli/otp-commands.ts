// The commands of one-time passwords and of the guard against fraud with them, as rows of commands.ts.
import type { CommandRow } from './command-row.ts';

const ofAccount = { '--account <id>': 'the account (acc_…)' };

export const otpCommands: Readonly<Record<string, CommandRow>> = {
  'otp unlock': {
    help: 'forget the wrong guesses that locked a number, so that it gets codes again',
    requires: ofAccount,
    takes: { '<number>': 'the number, such as +8801712345678', '--test': 'as test keys have locked it' },
    load: async () => (await import('./otp-unlock.ts')).unlockCommand,
  },
  'otp-guard blocks': {
    help: 'the blocks of numbers in effect, newest first, with the rule and its figure',
    requires: ofAccount,
    takes: { '--ended': 'also those that ended within a day' },
    load: async () => (await import('./otp-guard.ts')).listGuardBlocks,
  },
  'otp-guard release': {
    help: 'end a block: its numbers are legitimate, and what was counted of them is forgotten',
    requires: ofAccount,
    takes: { '<prefix>': 'as `otp-guard blocks` shows it, such as +880171234' },
    load: async () => (await import('./otp-guard.ts')).releaseGuardNumbers,
  },
  'otp-guard safe-list': {
    help: 'numbers and prefixes that no rule refuses; without options: show them',
    requires: ofAccount,
    takes: {
      '--add <list>': 'numbers or prefixes such as +8801712345678,+880171234',
      '--remove <list>': 'entries as they are on the list',
    },
    load: async () => (await import('./otp-guard.ts')).guardSafeList,
  },
};
