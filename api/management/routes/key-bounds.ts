// What one API key may give to another: never more than it has itself. Pure.
import type { KeyEntry } from '../../../cluster/directory/contract.ts';
import type { Rate } from '../../../cluster/store/rate.ts';
import { isInAny, isWithinAny, parseIp, parseNetwork } from '../../../model/ip-address.ts';
import type { FieldProblem } from '../../problem.ts';

export type KeyBounds = { readonly ipAllowlist?: readonly string[]; readonly rate?: Rate | null };

/** Everything in these bounds that is wider than those of the key that asks. What is left out is not looked at. */
export function tooWide(asking: KeyEntry, { ipAllowlist, rate }: KeyBounds): FieldProblem[] {
  const errors: FieldProblem[] = [];
  const wrong = (field: string, detail: string) => errors.push({ field, code: 'invalid_field', detail });
  const isBound = (asking.networks?.length ?? 0) > 0;
  if (ipAllowlist?.length === 0 && isBound)
    wrong('ip_allowlist', 'the asking key may not be used from everywhere itself');
  for (const [at, network] of (ipAllowlist ?? []).entries()) {
    if (!mayUse(asking, network)) wrong(`ip_allowlist[${at}]`, 'the asking key may not be used from there itself');
  }
  if (asking.rate != null && rate !== undefined && (rate === null || rate.perSecond > asking.rate.perSecond)) {
    wrong('rate_limit', `the asking key has ${asking.rate.perSecond} a second itself`);
  }
  return errors;
}

/** A list without the address that asks for it would be the last thing its owner changed. `from`: as text. */
export function locksOut(from: string, ipAllowlist: readonly string[] | undefined): FieldProblem[] {
  const ip = parseIp(from);
  if (ip === null || ipAllowlist === undefined || ipAllowlist.length === 0) return [];
  const networks = ipAllowlist.map(parseNetwork).filter((each) => each !== null);
  if (isInAny(ip, networks)) return [];
  const detail = `does not hold ${from}, from where you ask: you would lock yourself out, so add it`;
  return [{ field: 'ip_allowlist', code: 'invalid_field', detail }];
}

function mayUse(key: KeyEntry, network: string): boolean {
  if (key.networks === undefined || key.networks.length === 0) return true;
  const wanted = parseNetwork(network);
  const own = key.networks.map(parseNetwork).filter((each) => each !== null);
  return wanted !== null && isWithinAny(wanted, own);
}
