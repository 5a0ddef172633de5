// Refuses numbers this account must not send to: people who opted out, and numbers it suppressed itself. Checked at
// admission and again when a token is granted, because somebody may opt out while a campaign waits.
import type { Category } from '../../model/message.ts';
import type { Refusal, Suppressions } from '../contract.ts';

export function optOutGate(
  suppressions: Suppressions | undefined,
  request: { readonly to: string; readonly from: string; readonly category: Category },
): Refusal | null {
  if (suppressions === undefined || !suppressions.has(request.to, request.from, request.category)) return null;
  return optedOut(request.from);
}

const optedOut = (from: string): Refusal => ({
  ok: false,
  code: 'recipient_opted_out',
  field: 'to',
  detail:
    `gets no messages from ${from}: its subscriber answered STOP, or it is on the suppression list of this account ` +
    '(GET /v1/suppressions); take it off your lists',
});
