// Checks the sender. Its shape is a rule of the networks (3GPP TS 23.040 §9.1.2.5: 11 septets of text, or a number);
// its approval is a rule of the regulators and applies to live keys only, because a test message never leaves the
// sandbox. It never rewrites a sender.
import type { Category } from '../../model/message.ts';
import { senderKindOf, senderShape } from '../../model/sender.ts';
import type { Principal, Refusal, SmsRequest } from '../contract.ts';

export function senderGate(principal: Principal, request: SmsRequest): Refusal | null {
  const { from, category } = request;
  const { senders, senderCategories } = principal.account;
  // An approved sender had its shape checked when it was registered.
  if (senders.has(from)) {
    const allowed = senderCategories?.get(from);
    if (allowed === undefined || allowed.includes(category) || !principal.livemode) return null;
    return no(`"${from}" is approved for ${allowed.join(', ')} messages only, and this one is ${category}`);
  }
  if (senderKindOf(from) === null) {
    return { ok: false, code: 'invalid_field', field: 'from', detail: `must be ${senderShape}` };
  }
  return principal.livemode
    ? no(
        `"${from}" is not an approved sender of this account: see GET /v1/senders, or ask for it with POST /v1/senders`,
      )
    : null;
}

/** Asked again of what waited long: whether the name still stands for this account and category. */
export function isApproved(
  account: Pick<Principal['account'], 'senders' | 'senderCategories'>,
  from: string,
  category: Category,
): boolean {
  return account.senders.has(from) && (account.senderCategories?.get(from)?.includes(category) ?? true);
}

function no(detail: string): Refusal {
  return { ok: false, code: 'sender_not_registered', field: 'from', detail };
}
