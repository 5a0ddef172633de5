// Checks whether this principal may send at all: the key's scope and the account's status. The directory has verified
// the key; a suspended account's key may still read, which is why this is a gate.
import type { Principal, Refusal } from '../contract.ts';

const scopeNeeded = 'sms:send';

export function scopeGate(principal: Principal): Refusal | null {
  if (principal.scopes.includes(scopeNeeded)) return null;
  return { ok: false, code: 'scope_missing', field: null, detail: `the API key lacks the scope ${scopeNeeded}` };
}

export function accountGate(principal: Principal): Refusal | null {
  if (principal.account.status === 'active') return null;
  return {
    ok: false,
    code: 'account_suspended',
    field: null,
    detail: 'the account is suspended: nothing is sent until it is active again',
  };
}
