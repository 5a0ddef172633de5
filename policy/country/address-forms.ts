// Normalises addresses of messages from subscribers: carriers send them international with or without plus, national
// with or without the trunk prefix, or as short codes. Pure; it never guesses a country: an unknown form stays as it
// is.
import { isE164 } from '../../model/e164.ts';
import type { CountryRules } from './contract.ts';
import { nationalLengths } from './number-plan.ts';

export type AddressForms = {
  /** E.164, or null where the address can be no subscriber's number. */
  subscriber(address: string, ton: number): string | null;
  /** The same of an address that stands for a recipient of ours: of this country, if it can be, whatever its TON says. */
  recipient(address: string, ton: number): string | null;
  /** The digits under which a client may have registered this number, the likeliest first. */
  client(address: string, ton: number): readonly string[];
};

/** SMPP 3.4 §5.2.5. */
const international = 1;
const alphanumeric = 5;
/** Foreign numbers without a sign of it: a number this long that fits nothing at home has its country in front. */
const foreignDigitsMin = 9;

export function addressForms(country: CountryRules): AddressForms {
  const callingDigits = country.callingCode.slice(1);
  const { trunkPrefix = '' } = country;
  const lengthsOf = nationalLengths(country);
  const isNational = (digits: string) => !digits.startsWith('0') && lengthsOf(digits, 0).includes(digits.length);

  /** The number after the calling code; null: not of this country. */
  function nationalOf(digits: string): string | null {
    if (digits.startsWith(callingDigits) && isNational(digits.slice(callingDigits.length))) {
      return digits.slice(callingDigits.length);
    }
    if (trunkPrefix !== '' && digits.startsWith(trunkPrefix) && isNational(digits.slice(trunkPrefix.length))) {
      return digits.slice(trunkPrefix.length);
    }
    return isNational(digits) ? digits : null;
  }

  function subscriber(address: string, ton: number): string | null {
    const digits = digitsOf(address);
    if (digits === null || ton === alphanumeric) return null;
    if (address.startsWith('+') || ton === international) return e164(withoutZeros(digits));
    if (digits.startsWith('00')) return e164(digits.slice(2));
    const national = nationalOf(digits);
    if (national !== null) return e164(callingDigits + national);
    return digits.length >= foreignDigitsMin ? e164(digits) : null;
  }

  function isHome(number: string | null): number is string {
    return number !== null && nationalOf(number.slice(1)) === number.slice(country.callingCode.length);
  }

  return {
    subscriber,
    recipient(address, ton) {
      const direct = subscriber(address, ton);
      if (isHome(direct)) return direct;
      // A TON copied from our submit, or a plus, beside a number that is written nationally.
      const digits = digitsOf(address);
      const home = digits === null ? null : subscriber(digits, 0);
      return isHome(home) ? home : direct;
    },
    client(address, ton) {
      const digits = digitsOf(address);
      if (digits === null) return [];
      const whole = subscriber(address, ton)?.slice(1) ?? null;
      const national = nationalOf(whole ?? digits);
      const forms = [digits, whole, national === null ? null : trunkPrefix + national, national];
      return [...new Set(forms.filter((form) => form !== null))];
    },
  };
}

/** Null when there is anything but digits behind an optional plus. */
function digitsOf(address: string): string | null {
  const match = /^\+?(\d{2,20})$/.exec(address.trim());
  return match === null ? null : (match[1] as string);
}

const withoutZeros = (digits: string) => (digits.startsWith('00') ? digits.slice(2) : digits);

function e164(digits: string): string | null {
  const number = `+${digits}`;
  return isE164(number) ? number : null;
}
