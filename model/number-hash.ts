// A subscriber's number as a keyed hash, by which it is found after its digits are cut off or erased. With another key no
// hash would be found again. Who has the key can try all numbers of a country: a hash is as secret as its key.
import { createHmac } from 'node:crypto';
import { type Clock, systemClock } from '../platform/clock.ts';
import { limits } from '../platform/limits.ts';
import { RotatingMap } from '../platform/rotating-map.ts';
import { isE164 } from './e164.ts';
import { suppressionPlaceOf, numberKeyOf } from './suppression.ts';

export const numberKeyOctets = 32;

/** The hash as a decimal number, and its two words of 32 bits. */
export type NumberHash = { readonly text: string; readonly low: number; readonly high: number };

/** The hash of what is no number in full: of a refused request, of a short code. */
export const noNumber = '0';

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

const { hashesHeldMs, hashesHeldMax } = limits.erasure;

export class NumberHashes {
  readonly #key: Uint8Array;
  /** A message has several events within seconds. */
  readonly #known: RotatingMap<string, NumberHash>;

  constructor(key: Uint8Array, clock: Clock = systemClock) {
    this.#key = key;
    this.#known = new RotatingMap(hashesHeldMs, hashesHeldMax, clock);
  }

  /** `number`: E.164; anything else has `noNumber`. */
  of(number: string): string {
    return this.hashOf(number).text;
  }

  hashOf(number: string): NumberHash {
    if (!isE164(number)) return none;
    const known = this.#known.get(number);
    if (known !== undefined) return known;
    const hash = hashIn(this.#digest(number));
    this.#known.set(number, hash);
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
    return erasedKeysFrom + Number(this.#digest(number).readBigUInt64BE(8) >> 12n);
  }

  #digest(number: string): Buffer {
    return createHmac('sha256', this.#key).update(number).digest();
  }
}

/** Never `noNumber`. */
function hashIn(digest: Buffer): NumberHash {
  const [high, low] = [digest.readUInt32BE(0), digest.readUInt32BE(4) || 1];
  return { text: String((BigInt(high) << 32n) + BigInt(low)), low, high };
}

const none: NumberHash = { text: noNumber, low: 0, high: 0 };
