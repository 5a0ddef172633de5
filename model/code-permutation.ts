// FF1 (NIST SP 800-38G, format-preserving encryption) for ten digits of base 62 without a tweak: the permutation of codes of
// short links. A redirect decrypts one code, and the general FF1 of @noble/ciphers, which works on big integers, takes 50 µs
// for that. With these parameters halves are numbers below 2^30 and each of the ten rounds is one block of AES
// (aes-block.ts). A test holds it to the library's FF1. Pure.
import { aes128 } from './aes-block.ts';

export type CodePermutation = {
  /** Both halves, five digits each, are numbers from 0 to 62^5 − 1. */
  encrypt(high: number, low: number): readonly [high: number, low: number];
  decrypt(high: number, low: number): readonly [high: number, low: number];
};

/** 62^5 = 916,132,832, in four octets (b of the standard). */
export const halfMax = 62 ** 5;
const rounds = 10;

/** `secret`: an AES-128 key. */
export function codePermutation(secret: Uint8Array): CodePermutation {
  const encryptBlock = aes128(secret);
  // P: version, method, addition, radix 62 in three octets, ten rounds, u = 5, n = 10, t = 0. Its block is the same in every
  // round, so the CBC-MAC goes on from here.
  const head = wordsOf([1, 2, 1, 0, 0, 62, 10, 5, 0, 0, 0, 10, 0, 0, 0, 0]);
  encryptBlock(head);
  const block = new Uint32Array(4);

  /** The first d = 8 octets of the MAC over Q = eleven zeros, the round, the half; modulo 62^5. */
  function roundOf(round: number, half: number): number {
    block.set(head);
    block[2] = (head[2] as number) ^ (round << 24);
    block[3] = (head[3] as number) ^ reversed(half);
    encryptBlock(block);
    // In steps of 16 bits every product stays below 2^53.
    const upper = reversed(block[0] as number) % halfMax;
    const shifted = (((upper * 0x1_0000) % halfMax) * 0x1_0000) % halfMax;
    return (shifted + reversed(block[1] as number)) % halfMax;
  }

  return {
    encrypt(high, low) {
      let [a, b] = [high, low];
      for (let round = 0; round < rounds; round += 1) [a, b] = [b, (a + roundOf(round, b)) % halfMax];
      return [a, b];
    },
    decrypt(high, low) {
      let [a, b] = [high, low];
      for (let round = rounds - 1; round >= 0; round -= 1) [a, b] = [(b - roundOf(round, a) + halfMax) % halfMax, a];
      return [a, b];
    },
  };
}

/** The standard's numbers begin with their highest octet, the words of a block with their lowest. */
function reversed(word: number): number {
  return ((word << 24) | ((word & 0xff00) << 8) | ((word >>> 8) & 0xff00) | (word >>> 24)) >>> 0;
}

function wordsOf(octets: readonly number[]): Uint32Array {
  return Uint32Array.from({ length: octets.length / 4 }, (_, word) =>
    octets.slice(word * 4, word * 4 + 4).reduceRight((sum, octet) => sum * 256 + octet, 0),
  );
}
