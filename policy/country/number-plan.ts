// Which numbers exist in the country of this installation, compiled once from the configuration. A full parser knows
// every country and costs 6 µs; one calling code and its lengths are enough here. Pure. Nothing is repaired: a number
// without its plus sign is refused.
import { isE164 } from '../../model/e164.ts';
import type { Refusal, RoutingRules } from '../contract.ts';
import type { CountryRules } from './contract.ts';

export type NumberPlan = {
  /** Null when messages to the number are allowed. */
  refuse(to: string): Refusal | null;
};

export function numberPlan(country: CountryRules): NumberPlan {
  const { callingCode } = country;
  const lengthsOf = nationalLengths(country);
  return {
    refuse(to) {
      if (!isE164(to)) {
        return no('invalid_recipient', `must be a number in E.164 form with the leading plus, such as ${callingCode}…`);
      }
      if (!to.startsWith(callingCode)) {
        return no('unsupported_destination', `must begin with ${callingCode}: other countries are not served here`);
      }
      const digits = to.length - callingCode.length;
      const lengths = lengthsOf(to, callingCode.length);
      if (lengths.includes(digits)) return null;
      return no('invalid_recipient', `must have ${lengths.join(' or ')} digits after ${callingCode}, found ${digits}`);
    },
  };
}

/** The longest of these prefixes that a national number begins with; undefined without one. */
export function longestPrefix(prefixes: Iterable<string>): (national: string) => string | undefined {
  const known = new Set(prefixes);
  const lengths = [...new Set([...known].map((prefix) => prefix.length))].sort((a, b) => b - a);
  return (national) => {
    for (const length of lengths) {
      const prefix = national.slice(0, length);
      if (known.has(prefix)) return prefix;
    }
    return undefined;
  };
}

/** A carrier of ours and how it is known that a number is its own: `ported to alpha`, `prefix 17`. */
export type HomeCarrier = { readonly carrier: string; readonly why: string };

/**
 * The carrier that a number in E.164 belongs to, if the plan allows the number: the one it was ported to, where that one is
 * configured, else the one with the longest national prefix; null: none. Routes and gates ask the same function. What is
 * known in one way is always the same object. Two operators that one carrier serves are distinguished by
 * `operatorPrefixes`.
 * ```ts
 * const homeOf = homeCarriers(rules, portedTo);
 * homeOf('+8801712345678'); // { carrier: 'alpha', why: 'prefix 17' }
 * ```
 */
export function homeCarriers(
  { carriers, country: { callingCode, prefixes } }: Pick<RoutingRules, 'carriers' | 'country'>,
  portedTo: (to: string) => string | null,
): (to: string) => HomeCarrier | null {
  const prefixOf = longestPrefix(Object.keys(prefixes));
  const byPrefix = new Map(
    Object.entries(prefixes).map(([prefix, carrier]) => [prefix, { carrier, why: `prefix ${prefix}` }]),
  );
  const byPorting = new Map(carriers.map(({ name }) => [name, { carrier: name, why: `ported to ${name}` }]));
  return (to) =>
    byPorting.get(portedTo(to) ?? '') ?? byPrefix.get(prefixOf(to.slice(callingCode.length)) ?? '') ?? null;
}

/** The prefix by which the country knows the operator of a number in E.164; '' without one. */
export function operatorPrefixes({ callingCode, prefixes }: CountryRules): (to: string) => string {
  const prefixOf = longestPrefix(Object.keys(prefixes));
  return (to) => (to.startsWith(callingCode) ? (prefixOf(to.slice(callingCode.length)) ?? '') : '');
}

/** The lengths a national number may have, by its first digits. `at`: where in `digits` it begins. */
export function nationalLengths(country: CountryRules): (digits: string, at: number) => readonly number[] {
  const sorted = (lengths: readonly number[]) => [...new Set(lengths)].sort((a, b) => a - b);
  const usual = sorted(country.nationalLengths);
  // The longest prefix first: it wins.
  const special = Object.entries(country.lengthsByPrefix ?? {})
    .sort(([one], [other]) => other.length - one.length)
    .map(([prefix, lengths]) => ({ prefix, lengths: sorted(lengths) }));
  if (special.length === 0) return () => usual;
  return (digits, at) => special.find(({ prefix }) => digits.startsWith(prefix, at))?.lengths ?? usual;
}

function no(code: 'invalid_recipient' | 'unsupported_destination', detail: string): Refusal {
  return { ok: false, code, field: 'to', detail };
}
