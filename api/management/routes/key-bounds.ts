// What one API key may do to others: it gives none more than it has itself (mode, scopes, networks, rate, expiry), and
// changes or revokes only keys that may do no more than itself. Pure.
import type { Principal } from '../../../acceptance/principal.ts';
import type { KeyChange, StoredApiKey } from '../../../control/store/api-keys.ts';
import type { Rate } from '../../../directory/contract.ts';
import { isInAny, isWithinAny, parseIp, parseNetwork, parseNetworks } from '../../../platform/ip-address.ts';
import { type FieldProblem, type Problem, problem, problemOfFields } from '../../problem.ts';

/** Everything that bounds a key. */
export type KeyPowers = Required<Pick<Principal, 'livemode' | 'scopes' | 'networks' | 'rate' | 'expiresAtMs'>>;

export const powersOf = ({ livemode, scopes, networks = [], rate = null, expiresAtMs }: Principal): KeyPowers => ({
  livemode,
  scopes,
  networks,
  rate,
  expiresAtMs,
});

export const powersOfKey = ({ livemode, scopes, ipAllowlist, rate, expiresAtMs }: StoredApiKey): KeyPowers => ({
  livemode,
  scopes,
  networks: ipAllowlist,
  rate,
  expiresAtMs,
});

/** Null when the calling key may create a key with these powers. */
export function refuseNewKey(asking: KeyPowers, wanted: KeyPowers, nowMs: number): Problem | null {
  return problemOfFields([...beyond(asking, wanted), ...inThePast(wanted.expiresAtMs, nowMs)]);
}

/** Null when the calling key may make this change to the key as it is now. */
export function refuseKeyChange(
  asking: KeyPowers,
  current: StoredApiKey,
  change: KeyChange,
  nowMs: number,
): Problem | null {
  const outOfReach = refuseKeyRevocation(asking, current);
  if (outOfReach !== null) return outOfReach;
  if (current.revokedAtMs !== null) return problem(409, 'conflict', 'the key is revoked: create another one');
  if (current.expiresAtMs !== null && current.expiresAtMs <= nowMs) {
    return problem(409, 'conflict', 'the key has expired: create another one');
  }
  const after = powersOfKey({ ...current, ...change });
  return problemOfFields([...beyond(asking, after), ...inThePast(change.expiresAtMs ?? null, nowMs)]);
}

/** Null when the calling key may revoke the key. */
export function refuseKeyRevocation(asking: KeyPowers, current: StoredApiKey): Problem | null {
  const [first] = beyond(asking, powersOfKey(current));
  if (first === undefined) return null;
  return problem(403, 'key_exceeds_own_permissions', `${first.field.replace(/\[.*/, '')}: ${first.detail}`);
}

/** Every way in which `wanted` exceeds the calling key. */
export function beyond(asking: KeyPowers, wanted: KeyPowers): FieldProblem[] {
  const errors: FieldProblem[] = [];
  const wrong = (field: string, detail: string) => errors.push({ field, code: 'invalid_field', detail });
  if (wanted.livemode && !asking.livemode) wrong('livemode', 'the asking key is a test key');
  for (const [at, scope] of wanted.scopes.entries()) {
    if (!asking.scopes.includes(scope)) wrong(`scopes[${at}]`, `the asking key does not have ${scope} itself`);
  }
  if (wanted.networks.length === 0 && asking.networks.length > 0) {
    wrong('ip_allowlist', 'the asking key may not be used from everywhere itself');
  }
  for (const [at, network] of wanted.networks.entries()) {
    if (!mayUse(asking, network)) wrong(`ip_allowlist[${at}]`, 'the asking key may not be used from there itself');
  }
  if (asking.rate !== null && !isNoFaster(wanted.rate, asking.rate)) {
    const { perSecond, burst } = asking.rate;
    wrong('rate_limit', `the asking key has ${perSecond} a second itself, ${burst} at once`);
  }
  if (asking.expiresAtMs !== null && (wanted.expiresAtMs === null || wanted.expiresAtMs > asking.expiresAtMs)) {
    wrong('expires_at', `the asking key expires itself, at ${new Date(asking.expiresAtMs).toISOString()}`);
  }
  return errors;
}

/** Refuses an allowlist without the client's own address `from`, because its owner could not change it back. */
export function locksOut(from: string, ipAllowlist: readonly string[] | undefined): FieldProblem[] {
  const ip = parseIp(from);
  if (ip === null || ipAllowlist === undefined || ipAllowlist.length === 0) return [];
  if (isInAny(ip, parseNetworks(ipAllowlist))) return [];
  const detail = `does not contain ${from}, your own address: you would lock yourself out, so add it`;
  return [{ field: 'ip_allowlist', code: 'invalid_field', detail }];
}

const isNoFaster = (rate: Rate | null, than: Rate) =>
  rate !== null && rate.perSecond <= than.perSecond && rate.burst <= than.burst;

function inThePast(expiresAtMs: number | null, nowMs: number): FieldProblem[] {
  if (expiresAtMs === null || expiresAtMs > nowMs) return [];
  return [{ field: 'expires_at', code: 'invalid_field', detail: 'expected a time in the future' }];
}

function mayUse({ networks }: KeyPowers, network: string): boolean {
  if (networks.length === 0) return true;
  const wanted = parseNetwork(network);
  return wanted !== null && isWithinAny(wanted, parseNetworks(networks));
}
