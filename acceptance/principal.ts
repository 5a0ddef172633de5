// Who asks: whoever an entry point authenticated, in the one form that rate limits, gates, acceptance, management and
// the audit log take. An entry point of another kind makes its own Principal and needs nothing else changed.
import type { Account, KeyEntry, Rate } from '../directory/contract.ts';
import type { Scope } from '../model/api-key.ts';
import type { PrincipalId } from '../model/ids.ts';

/**
 * `user`: of the dashboard. `smpp_credential`: a system_id. `operator`: whoever runs the installation. Only API keys
 * authenticate in this version.
 */
export type PrincipalKind = 'api_key' | 'user' | 'smpp_credential' | 'operator';

export type Principal = {
  readonly kind: PrincipalKind;
  /** What messages, events and the audit log name it by. */
  readonly id: PrincipalId;
  readonly account: Account;
  /** False: everything it sends goes to the sandbox. */
  readonly livemode: boolean;
  readonly scopes: readonly Scope[];
  /** Networks it may ask from (CIDR); empty or missing: all. */
  readonly networks?: readonly string[];
  /** Null or missing: no limit of its own. */
  readonly rate?: Rate | null;
  /** Null: until it is revoked. */
  readonly expiresAtMs: number | null;
};

/** An API key that the directory has authenticated. On the way of every request. */
export function principalOfKey({ key, account }: { readonly key: KeyEntry; readonly account: Account }): Principal {
  const { keyId, livemode, scopes, networks = everywhere, rate = null, expiresAtMs } = key;
  return { kind: 'api_key', id: keyId, account, livemode, scopes, networks, rate, expiresAtMs };
}

const everywhere: readonly string[] = [];
