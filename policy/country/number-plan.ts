// Which numbers exist in the country this installation serves, compiled once from the configuration. A full
// parser knows every country and costs 6 µs; at the door one country's calling code and lengths are enough.
// Pure; it must never guess: a number without its plus sign is refused, not repaired.
import type { Refusal, RoutingRules } from '../contract.ts';

export type NumberPlan = {
  /** Null when the number may be sent to. */
  refuse(to: string): Refusal | null;
  /** The number after the calling code. Only meaningful when `refuse` gave null. */
  nationalOf(to: string): string;
};

/** ITU-T E.164: a plus sign, no leading zero, at most 15 digits; fewer than 7 are no subscriber's number. */
const e164 = /^\+[1-9][0-9]{6,14}$/;

export function numberPlan(country: RoutingRules['country']): NumberPlan {
  const { callingCode } = country;
  const lengths = new Set(country.nationalLengths);
  const expected = [...lengths].sort((a, b) => a - b).join(' or ');
  return {
    refuse(to) {
      if (!e164.test(to)) {
        return no('invalid_recipient', `must be a number in E.164 form with the leading plus, such as ${callingCode}…`);
      }
      if (!to.startsWith(callingCode)) {
        return no('unsupported_destination', `must begin with ${callingCode}: other countries are not served here`);
      }
      const digits = to.length - callingCode.length;
      if (lengths.has(digits)) return null;
      return no('invalid_recipient', `must have ${expected} digits after ${callingCode}, found ${digits}`);
    },
    nationalOf: (to) => to.slice(callingCode.length),
  };
}

function no(code: 'invalid_recipient' | 'unsupported_destination', detail: string): Refusal {
  return { ok: false, code, field: 'to', detail };
}
