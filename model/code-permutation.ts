// FF1 (NIST SP 800-38G, format-preserving encryption) for ten digits of base 62 without a tweak: the permutation of codes of
// short links. A redirect decrypts one code, and the general FF1 of @noble/ciphers, which works on big integers, takes 50 µs
// for that. With these parameters halves are numbers below 2^30 and each of the ten rounds is one block of AES, which is that of
// @stablelib/aes: its tables of 4 KiB stay in the processor's cache (decision 240). A test holds it to the FF1 of
// @noble/ciphers. Pure.
import { AES } from '@stablelib/aes';

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
  // Without the key for decrypting blocks: both directions of FF1 only encrypt them.
  const aes = new AES(secret, true);
  // P: version, method, addition, radix 62 in three octets, ten rounds, u = 5, n = 10, t = 0. Its block is the same in every
  // round, so the CBC-MAC goes on from here.
  const head = Uint8Array.from([1, 2, 1, 0, 0, 62, 10, 5, 0, 0, 0, 10, 0, 0, 0, 0]);
  aes.encryptBlock(head, head);
  const block = new Uint8Array(16);
  const view = new DataView(block.buffer);

  /** The first d = 8 octets of the MAC over Q = eleven zeros, the round, the half; modulo 62^5. */
  function roundOf(round: number, half: number): number {
    block.set(head);
    block[11] = (head[11] as number) ^ round;
    view.setUint32(12, (view.getUint32(12) ^ half) >>> 0);
    aes.encryptBlock(block, block);
    // In steps of 16 bits every product stays below 2^53.
    const upper = view.getUint32(0) % halfMax;
    const shifted = (((upper * 0x1_0000) % halfMax) * 0x1_0000) % halfMax;
    return (shifted + view.getUint32(4)) % halfMax;
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
