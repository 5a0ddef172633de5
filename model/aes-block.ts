// AES-128 (FIPS 197): one block encrypted, for code-permutation.ts. The key schedule is the library's. Its encryption reads
// tables of 512 KiB, which no longer are in the processor's cache when the next redirect comes: 10 µs for a code instead of
// 2. One table of 1 KiB, turned by a byte for each row, stays there. A test holds it to OpenSSL. Pure.
import { unsafe } from '@noble/ciphers/aes.js';

/** Four words, little-endian, in the place of four words. */
export type BlockCipher = (block: Uint32Array) => void;

const rounds = 10;

export function aes128(key: Uint8Array): BlockCipher {
  const schedule = unsafe.expandKeyLE(key);
  const at = (index: number): number => schedule[index] as number;
  return (block) => {
    let [a, b, c, d] = [
      (block[0] as number) ^ at(0),
      (block[1] as number) ^ at(1),
      (block[2] as number) ^ at(2),
      (block[3] as number) ^ at(3),
    ];
    for (let next = 4; next < rounds * 4; next += 4) {
      const [w, x, y] = [a, b, c];
      a = at(next) ^ mixed(w, x, y, d);
      b = at(next + 1) ^ mixed(x, y, d, w);
      c = at(next + 2) ^ mixed(y, d, w, x);
      d = at(next + 3) ^ mixed(d, w, x, y);
    }
    const last = rounds * 4;
    block[0] = at(last) ^ substituted(a, b, c, d);
    block[1] = at(last + 1) ^ substituted(b, c, d, a);
    block[2] = at(last + 2) ^ substituted(c, d, a, b);
    block[3] = at(last + 3) ^ substituted(d, a, b, c);
  };
}

/** SubBytes, ShiftRows and MixColumns of one column. */
function mixed(a: number, b: number, c: number, d: number): number {
  return (
    (columns[a & 255] as number) ^
    turned(columns[(b >>> 8) & 255] as number, 8) ^
    turned(columns[(c >>> 16) & 255] as number, 16) ^
    turned(columns[d >>> 24] as number, 24)
  );
}

/** SubBytes and ShiftRows of one column. */
function substituted(a: number, b: number, c: number, d: number): number {
  return (
    (substitutes[a & 255] as number) |
    ((substitutes[(b >>> 8) & 255] as number) << 8) |
    ((substitutes[(c >>> 16) & 255] as number) << 16) |
    ((substitutes[d >>> 24] as number) << 24)
  );
}

const turned = (word: number, bits: number): number => (word << bits) | (word >>> (32 - bits));
/** Times x in GF(2^8). */
const doubled = (octet: number): number => ((octet << 1) ^ (octet & 0x80 ? 0x11b : 0)) & 255;

/** The S-box: the inverse of each octet in GF(2^8), which is its power of 254, and the affine map. */
const substitutes = Uint8Array.from({ length: 256 }, (_, octet) => {
  const product = (one: number, other: number): number => {
    let sum = 0;
    for (let [left, by] = [one, other]; by > 0; [left, by] = [doubled(left), by >> 1]) if (by & 1) sum ^= left;
    return sum;
  };
  let inverse = 1;
  for (let power = 0; power < 254; power += 1) inverse = product(inverse, octet);
  let affine = inverse ^ 0x63;
  for (let bits = 1; bits <= 4; bits += 1) affine ^= ((inverse << bits) | (inverse >> (8 - bits))) & 255;
  return affine;
});
/** What an octet of the first row adds to its column. */
const columns = Uint32Array.from(substitutes, (s) => doubled(s) | (s << 8) | (s << 16) | ((doubled(s) ^ s) << 24));
