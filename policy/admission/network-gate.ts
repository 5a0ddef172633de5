// From which networks a principal may ask: its own and its account's, both of which must match where they are set.
// Checked before the body is read. An unknown address is not allowed anywhere.
import { type IpAddress, type Network, formatIp, isInAny, parseNetwork } from '../../model/ip-address.ts';
import type { Refusal } from '../contract.ts';

/** Networks as text; empty or undefined: from everywhere. */
export type NetworkRules = {
  readonly networks?: readonly string[] | undefined;
  readonly account: { readonly networks?: readonly string[] | undefined };
};

const compiled = new WeakMap<readonly string[], readonly Network[]>();

/** Whether the address has to be found out at all: most keys may be used from everywhere. */
export function asksForAddress({ networks, account }: NetworkRules): boolean {
  return (networks?.length ?? 0) > 0 || (account.networks?.length ?? 0) > 0;
}

/** `ip` null: it could not be found out. */
export function networkGate({ networks: own, account }: NetworkRules, ip: IpAddress | null): Refusal | null {
  for (const networks of [own, account.networks]) {
    if (networks === undefined || networks.length === 0) continue;
    if (ip === null || !isInAny(ip, networksOf(networks))) return no(ip);
  }
  return null;
}

function networksOf(texts: readonly string[]): readonly Network[] {
  let networks = compiled.get(texts);
  if (networks === undefined) {
    // What cannot be read allows nobody: the list stays, and it is shorter.
    networks = texts.map(parseNetwork).filter((network): network is Network => network !== null);
    compiled.set(texts, networks);
  }
  return networks;
}

function no(ip: IpAddress | null): Refusal {
  const from = ip === null ? 'an address that cannot be determined' : formatIp(ip);
  const detail = `this key may not be used from ${from}: extend the allowlist of the key or the account`;
  return { ok: false, code: 'ip_not_allowed', field: null, detail };
}
