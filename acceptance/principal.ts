// The authenticated caller in the one form that rate limits, gates, acceptance, management and the audit log take. Each
// kind of entry point makes its own; what reads it does not know how the caller authenticated.
import type { Account, KeyEntry } from '../directory/contract.ts';
import type { PrincipalId } from '../model/ids.ts';

/**
 * `user`: of the dashboard · `smpp_credential`: a system_id · `operator`: the one who runs the installation. Only API
 * keys authenticate in this version.
 */
export type PrincipalKind = 'api_key' | 'user' | 'smpp_credential' | 'operator';

export type Principal = Pick<KeyEntry, 'livemode' | 'scopes' | 'networks' | 'rate' | 'expiresAtMs'> & {
  readonly kind: PrincipalKind;
  /** The id in messages, events and the audit log. */
  readonly id: PrincipalId;
  readonly account: Account;
};

/** Makes the Principal of an authenticated API key. Runs for every request. */
export function principalOfKey({ key, account }: { readonly key: KeyEntry; readonly account: Account }): Principal {
  const { keyId, livemode, scopes, networks = everywhere, rate = null, expiresAtMs } = key;
  return { kind: 'api_key', id: keyId, account, livemode, scopes, networks, rate, expiresAtMs };
}

const everywhere: readonly string[] = [];
