// The gates about the principal: the key's scope, the account's status (a suspended account may still read), its
// client networks, and the sender. Mobile networks define a sender's shape (3GPP TS 23.040, 9.1.2.5: 11 septets of text, or a
// number); regulators require its approval, which applies in live mode only, because a test message never leaves the
// sandbox. A sender is never rewritten.
import type { Principal, Refusal, SmsRequest } from '../contract.ts';
import type { Category } from '../../model/message.ts';
import { senderKindOf, senderShape } from '../../model/sender.ts';
import { type IpAddress, type Network, formatIp, isInAny, parseNetworks } from '../../platform/ip-address.ts';
import { perObject } from '../../platform/per-object.ts';

const scopeNeeded = 'sms:send';

export function scopeGate(principal: Principal): Refusal | null {
  if (principal.scopes.includes(scopeNeeded)) return null;
  return { ok: false, code: 'scope_missing', field: null, detail: `the API key lacks the scope ${scopeNeeded}` };
}

export function accountGate(principal: Principal): Refusal | null {
  if (principal.account.status === 'active') return null;
  const detail = 'the account is suspended: nothing is sent until it is active again';
  return { ok: false, code: 'account_suspended', field: null, detail };
}

export function senderGate(principal: Principal, request: SmsRequest): Refusal | null {
  const { from, category } = request;
  const { senders, senderCategories } = principal.account;
  // An approved sender's shape was checked when it was registered.
  if (senders.has(from)) {
    const allowed = senderCategories?.get(from);
    if (allowed === undefined || allowed.includes(category) || !principal.livemode) return null;
    return notApproved(`"${from}" is approved for ${allowed.join(', ')} messages only, and this one is ${category}`);
  }
  if (senderKindOf(from) === null) {
    return { ok: false, code: 'invalid_field', field: 'from', detail: `must be ${senderShape}` };
  }
  return principal.livemode
    ? notApproved(
        `"${from}" is not an approved sender of this account: see GET /v1/senders, or ask for it with POST /v1/senders`,
      )
    : null;
}

/** For messages that waited: whether the account may still use the sender for this category. */
export function isApproved(
  account: Pick<Principal['account'], 'senders' | 'senderCategories'>,
  from: string,
  category: Category,
): boolean {
  return account.senders.has(from) && (account.senderCategories?.get(from)?.includes(category) ?? true);
}

function notApproved(detail: string): Refusal {
  return { ok: false, code: 'sender_not_registered', field: 'from', detail };
}

/** Networks as text (CIDR); empty or undefined: from everywhere. */
export type NetworkRules = {
  readonly networks?: readonly string[] | undefined;
  readonly account: { readonly networks?: readonly string[] | undefined };
};

const networksOf = perObject<readonly string[], readonly Network[]>(parseNetworks);

/** Whether the client's address is needed at all: most keys may be used from everywhere. */
export function asksForAddress({ networks, account }: NetworkRules): boolean {
  return (networks?.length ?? 0) > 0 || (account.networks?.length ?? 0) > 0;
}

/**
 * Its own networks and its account's must both match where they are set. Checked before the body is read. `ip` null: it
 * is not known, and no network allows it.
 */
export function networkGate({ networks: own, account }: NetworkRules, ip: IpAddress | null): Refusal | null {
  for (const networks of [own, account.networks]) {
    if (networks === undefined || networks.length === 0) continue;
    if (ip === null || !isInAny(ip, networksOf(networks))) return notAllowed(ip);
  }
  return null;
}

function notAllowed(ip: IpAddress | null): Refusal {
  const from = ip === null ? 'an address that cannot be determined' : formatIp(ip);
  const detail = `this key may not be used from ${from}: extend the allowlist of the key or the account`;
  return { ok: false, code: 'ip_not_allowed', field: null, detail };
}
