// Which numbers exist in the country this installation serves, compiled once from the configuration. A full
// parser knows every country and costs 6 µs; at the door one country's calling code and lengths are enough.
// Pure; it must never guess: a number without its plus sign is refused, not repaired.
import type { Refusal } from '../contract.ts';
import type { CountryRules } from './contract.ts';

export type NumberPlan = {
  /** Null when the number may be sent to. */
  refuse(to: string): Refusal | null;
  /** The number after the calling code. Only meaningful when `refuse` gave null. */
  nationalOf(to: string): string;
};

/** ITU-T E.164: a plus sign, no leading zero, at most 15 digits; fewer than 7 are no subscriber's number. */
const digitsMin = 7;
const digitsMax = 15;

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
    nationalOf: (to) => to.slice(callingCode.length),
  };
}

/** The lengths a national number may have, found by its first digits. `at`: where in `digits` it begins. */
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

/** By character codes: a regular expression takes four times as long. */
function isE164(to: string): boolean {
  const { length } = to;
  if (length <= digitsMin || length > digitsMax + 1) return false;
  if (to.charCodeAt(0) !== 0x2b || to.charCodeAt(1) === 0x30) return false;
  for (let at = 1; at < length; at += 1) {
    const code = to.charCodeAt(at);
    if (code < 0x30 || code > 0x39) return false;
  }
  return true;
}

function no(code: 'invalid_recipient' | 'unsupported_destination', detail: string): Refusal {
  return { ok: false, code, field: 'to', detail };
}
