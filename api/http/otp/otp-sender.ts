// The sender of a start that names none: the one that the account may use for one-time passwords.
import type { Principal } from '../../../acceptance/principal.ts';
import { type OrProblem, wrongField } from '../../problem.ts';

/** A test key, which reaches nobody, has one in any case. */
export function usualSender({ account, livemode }: Principal): OrProblem<{ readonly from: string }> {
  const own = [...account.senders].filter((name) => account.senderCategories.get(name)?.includes('otp') ?? true);
  const [only] = own;
  if (own.length === 1 && only !== undefined) return { ok: true, from: only };
  return livemode
    ? { ok: false, problem: wrongField('from', choose(own), 'missing_field') }
    : { ok: true, from: testSender };
}

const testSender = 'HELIOGRAPH';
const sendersShownMax = 3;

function choose(own: readonly string[]): string {
  if (own.length === 0)
    return 'is required, and the account has no approved sender for OTP: POST /v1/senders registers one, GET /v1/senders lists them';
  const more = own.length > sendersShownMax ? `, and ${own.length - sendersShownMax} more` : '';
  return `is required: the account has ${own.length} approved senders for OTP (${own.slice(0, sendersShownMax).join(', ')}${more}), as GET /v1/senders lists them`;
}
