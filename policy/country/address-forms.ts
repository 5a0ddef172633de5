// Normalises addresses of messages from subscribers: carriers send them international with or without plus, national
// with or without the trunk prefix, or as short codes. Pure. The country is never guessed: an unknown form stays as it
// is.
import { isE164 } from '../../model/e164.ts';
import type { CountryRules } from './contract.ts';
import { nationalLengths } from './number-plan.ts';

export type AddressForms = {
  /** E.164, or null where the address cannot be a subscriber's number. */
  subscriber(address: string, ton: number): string | null;
  /** The same for the address of a recipient: of this country, if possible, whatever its TON says. */
  recipient(address: string, ton: number): string | null;
  /** The digits under which a client may have registered this number, the likeliest first. */
  client(address: string, ton: number): readonly string[];
};

/** Type of number (SMPP 3.4, 5.2.5). */
const international = 1;
const alphanumeric = 5;
/** A number without TON or plus of at least this length that fits nothing at home begins with a calling code. */
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
      // A TON copied from our submit, or a plus, can accompany a number in national form.
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

/** Null for anything but digits after an optional plus. */
function digitsOf(address: string): string | null {
  const match = /^\+?(\d{2,20})$/.exec(address.trim());
  return match === null ? null : (match[1] as string);
}

const withoutZeros = (digits: string) => (digits.startsWith('00') ? digits.slice(2) : digits);

function e164(digits: string): string | null {
  const number = `+${digits}`;
  return isE164(number) ? number : null;
}
