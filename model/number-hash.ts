// A subscriber's number as a keyed hash, by which it is found after its digits are cut off or erased. With another key no
// hash would be found again. Who has the key can try all numbers of a country: a hash is as secret as its key.
import { limits } from '../platform/limits.ts';
import { hmacSha256 } from '../platform/one-shot-hmac.ts';
import { isE164 } from './e164.ts';
import { suppressionPlaceOf, numberKeyOf } from './suppression.ts';

export const numberKeyOctets = 32;

/** 64 bits of HMAC-SHA-256 as two words of 32 bits. */
export type NumberHash = { readonly low: number; readonly high: number };

/** The hash of what is no number in full: of a refused request, of a short code. */
export const noNumber = '0';

const none: NumberHash = { low: 0, high: 0 };

/** The hash as a decimal number. */
export const hashText = ({ low, high }: NumberHash): string => String((BigInt(high) << 32n) + BigInt(low));

/** What replaces a number in records about its erasure. */
export type NumberMark = {
  /** 64 bits of HMAC-SHA-256, as a decimal number. */
  readonly hash: string;
  /** The number's key in lists of suppressed numbers (`erasedKeyOf`). */
  readonly listKey: number;
  /** Its place there, of 256: so that a list is not read as a whole. */
  readonly place: number;
};

/** No number has 16 digits: a key from here on is that of an erased number. */
export const erasedKeysFrom = 2 ** 52;

export class NumberHashes {
  readonly #key: Uint8Array;
  /**
   * A message has several events within seconds, so hashes are held: numbers by place, and two words for each place. A
   * number takes the place of another, and stays until then. The garbage collector has nothing to look at here.
   */
  #held: { readonly numbers: Float64Array; readonly words: Uint32Array } | null = null;
  readonly #heldBits: number;

  /** `heldMax`: a power of two, from 2 on. */
  constructor(key: Uint8Array, heldMax: number = limits.erasure.hashesHeld) {
    this.#key = key;
    this.#heldBits = Math.log2(heldMax);
  }

  /** `number`: E.164; anything else has `noNumber`. As a decimal number. */
  of(number: string): string {
    return hashText(this.hashOf(number));
  }

  hashOf(number: string): NumberHash {
    if (!isE164(number)) return none;
    const { numbers, words } = (this.#held ??= {
      numbers: new Float64Array(2 ** this.#heldBits),
      words: new Uint32Array(2 * 2 ** this.#heldBits),
    });
    const digits = Number(number);
    const place = placeOf(digits, this.#heldBits);
    if (numbers[place] === digits) return { low: words[2 * place] as number, high: words[2 * place + 1] as number };
    const hash = hashIn(hmacSha256(this.#key, number));
    numbers[place] = digits;
    words[2 * place] = hash.low;
    words[2 * place + 1] = hash.high;
    return hash;
  }

  /** `number`: E.164. */
  markOf(number: string): NumberMark {
    return {
      hash: this.of(number),
      listKey: this.erasedKeyOf(number),
      place: suppressionPlaceOf(numberKeyOf(number)),
    };
  }

  /** 52 other bits of the digest, above all numbers. */
  erasedKeyOf(number: string): number {
    return erasedKeysFrom + Number.parseInt(hmacSha256(this.#key, number).slice(16, 29), 16);
  }
}

/** Never `noNumber`. `digest`: hexadecimal. */
function hashIn(digest: string): NumberHash {
  return { low: Number.parseInt(digest.slice(8, 16), 16) || 1, high: Number.parseInt(digest.slice(0, 8), 16) };
}

/** Both words of the number count, and each digit changes the upper bits. */
function placeOf(digits: number, bits: number): number {
  return Math.imul((digits / 0x1_0000_0000) ^ digits, 0x9e37_79b1) >>> (32 - bits);
}
