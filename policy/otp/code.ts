// The code of a one-time password: made, read and compared. People type what they see: digits of their own script, with
// spaces and dashes; all of it is normalised before the comparison.
import { hash, timingSafeEqual } from 'node:crypto';
import { secretDigits } from '../../platform/random.ts';

/** From a cryptographically secure source; leading zeros are as likely as any digit. */
export function newOtpCode(length: number): string {
  return secretDigits(length);
}

/**
 * The digits of a guess as ASCII; null when it holds anything but decimal digits (Unicode Nd), spaces and dashes.
 * ```ts
 * normalizedCode('৪৯৩ ৮১৭') // '493817'
 * ```
 */
export function normalizedCode(text: string): string | null {
  let digits = '';
  // NFKC writes full-width and mathematical digits in ASCII.
  for (const character of text.normalize('NFKC')) {
    if (ignored.test(character)) continue;
    const digit = digitOf(character);
    if (digit === null) return null;
    digits += digit;
  }
  return digits === '' ? null : digits;
}

// White space, format characters (such as marks of the direction of writing), dashes; the minus sign, the hyphen bullet and
// the modifier letter, which look like dashes and are none to Unicode.
const ignored = /^[\s\p{Z}\p{Cf}\p{Pd}\u2212\u2043\u02d7]$/u;
const decimal = /^\p{Nd}$/u;

/** The ten digits of a script have consecutive code points, and nothing of the kind is right before its zero. */
function digitOf(character: string): string | null {
  if (!decimal.test(character)) return null;
  const point = character.codePointAt(0) ?? 0;
  let zero = point;
  while (decimal.test(String.fromCodePoint(zero - 1))) zero -= 1;
  return String((point - zero) % 10);
}

/** In constant time, whatever the lengths: hashes are compared. */
export function isSameCode(one: string, other: string): boolean {
  return timingSafeEqual(hash('sha256', one, 'buffer'), hash('sha256', other, 'buffer'));
}
