// The code of a short link: ten characters of base 62 that name a series of codes and a place in it, permuted under a
// secret of the installation. Codes that follow one another look unrelated, and of all ten-character codes only those
// that were given out mean anything (62^10 = 8.4·10^17 against at most some 10^8 that live), so they cannot be listed by
// trying. The permutation is FF1 (NIST SP 800-38G), format-preserving encryption, of @noble/ciphers: an audited library
// without dependencies, 40 µs a code. Pure.
import { FF1 } from '@noble/ciphers/ff1.js';
import { assert } from '../platform/assert.ts';

/** A series, from 0 to 2^24 − 1, and a place in it, from 0 to 2^20 − 1. */
export type CodePlace = { readonly series: number; readonly index: number };

export type LinkCodes = {
  codeOf(place: CodePlace): string;
  /** Null: not a code of this installation. */
  placeOf(code: string): CodePlace | null;
};

export const linkCodeChars = 10;
/** A shortened text has this in the place of each code until it is accepted. It is as long as one. */
export const codePlaceholder = '0'.repeat(linkCodeChars);
export const linkSecretOctets = 16;

const alphabet = '0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz';
const radix = alphabet.length;
const indexes = 2 ** 20;
const placesMax = 2 ** 44;

/**
 * ```ts
 * const codes = linkCodes(secret);
 * codes.placeOf(codes.codeOf({ series: 7, index: 0 })); // { series: 7, index: 0 }
 * ```
 */
export function linkCodes(secret: Uint8Array): LinkCodes {
  assert(secret.length === linkSecretOctets, 'the secret of the links is an AES-128 key');
  const permutation = FF1(radix, secret);
  return {
    codeOf({ series, index }) {
      assert(series >= 0 && index >= 0 && index < indexes, 'a place that a code cannot hold');
      let rest = series * indexes + index;
      assert(rest < placesMax, 'a place that a code cannot hold');
      const digits = new Array<number>(linkCodeChars);
      for (let at = linkCodeChars - 1; at >= 0; at -= 1) {
        digits[at] = rest % radix;
        rest = Math.floor(rest / radix);
      }
      return permutation
        .encrypt(digits)
        .map((digit) => alphabet[digit])
        .join('');
    },
    placeOf(code) {
      if (code.length !== linkCodeChars) return null;
      const digits = new Array<number>(linkCodeChars);
      for (let at = 0; at < linkCodeChars; at += 1) {
        const digit = alphabet.indexOf(code[at] as string);
        if (digit < 0) return null;
        digits[at] = digit;
      }
      let place = 0;
      for (const digit of permutation.decrypt(digits)) {
        place = place * radix + digit;
        // Beyond this a number would no longer be exact; it is no place either.
        if (place >= placesMax) return null;
      }
      return { series: Math.floor(place / indexes), index: place % indexes };
    },
  };
}
