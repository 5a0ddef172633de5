// The code of a short link: ten characters of base 62 that name a series of codes and a place in it, permuted under a
// secret of the installation. Codes that follow one another look unrelated, and of all ten-character codes only those
// that were given out mean anything (62^10 = 8.4·10^17 against at most some 10^8 that live), so they cannot be listed by
// trying. The permutation is FF1 (NIST SP 800-38G), format-preserving encryption (code-permutation.ts). Pure.
import { assert } from '../platform/assert.ts';
import { codePermutation, halfMax } from './code-permutation.ts';

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

/** A code as one number, from 0 to 2^44 − 1. */
export const codeNumber = ({ series, index }: CodePlace): number => series * indexes + index;

/**
 * ```ts
 * const codes = linkCodes(secret);
 * codes.placeOf(codes.codeOf({ series: 7, index: 0 })); // { series: 7, index: 0 }
 * ```
 */
export function linkCodes(secret: Uint8Array): LinkCodes {
  assert(secret.length === linkSecretOctets, 'the secret of the links is an AES-128 key');
  const permutation = codePermutation(secret);
  return {
    codeOf({ series, index }) {
      assert(series >= 0 && index >= 0 && index < indexes, 'a place that a code cannot hold');
      const place = codeNumber({ series, index });
      assert(place < placesMax, 'a place that a code cannot hold');
      const [high, low] = permutation.encrypt(Math.floor(place / halfMax), place % halfMax);
      return digitsOf(high) + digitsOf(low);
    },
    placeOf(code) {
      if (code.length !== linkCodeChars) return null;
      const [high, low] = [numberOf(code, 0), numberOf(code, halfChars)];
      if (high === null || low === null) return null;
      const [upper, lower] = permutation.decrypt(high, low);
      // Beyond this a number would no longer be exact; it is no place either.
      if (upper > Math.floor(placesMax / halfMax)) return null;
      const place = upper * halfMax + lower;
      return place < placesMax ? { series: Math.floor(place / indexes), index: place % indexes } : null;
    },
  };
}

const halfChars = linkCodeChars / 2;

function digitsOf(half: number): string {
  let [text, rest] = ['', half];
  for (let at = 0; at < halfChars; at += 1) {
    text = (alphabet[rest % radix] as string) + text;
    rest = Math.floor(rest / radix);
  }
  return text;
}

/** Null: with a character that no code has. */
function numberOf(code: string, from: number): number | null {
  let number = 0;
  for (let at = from; at < from + halfChars; at += 1) {
    const digit = digits[code.charCodeAt(at)] ?? -1;
    if (digit < 0) return null;
    number = number * radix + digit;
  }
  return number;
}

/** By character code. */
const digits = Int8Array.from({ length: 128 }, (_, code) => alphabet.indexOf(String.fromCharCode(code)));
