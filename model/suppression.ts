// Suppressed numbers in a compact form: each number is a float64 (E.164 has at most 15 digits, below 2^53), sorted,
// eight octets each, in blocks by a hash. A change rewrites one block; a look-up is a binary search in one block. Who
// suppressed a number and why is in the database. Pure.
import { assert } from '../platform/assert.ts';
import type { Category } from './message.ts';

/** What a suppression covers; null means every sender, every category. */
export type SuppressionScope = { readonly sender: string | null; readonly category: Category | null };

export type SuppressedNumbers = SuppressionScope & {
  /** Ascending, without duplicates. */
  readonly numbers: Float64Array;
};

/** The hash of a number has 256 values (places); with fewer bits, neighbouring places share a block. */
export const suppressionPlaceBits = 8;

/** `+8801712345678` → 8801712345678. */
export const numberKeyOf = (e164: string): number => Number(e164.slice(1));

/** 0..255: Fibonacci hashing over both halves of the number, because the first digits are nearly always the same. */
export function suppressionPlaceOf(numberKey: number): number {
  const low = numberKey % 0x1_0000_0000;
  const high = (numberKey - low) / 0x1_0000_0000;
  return Math.imul(low ^ Math.imul(high, 0x85eb_ca6b), 0x9e37_79b1) >>> (32 - suppressionPlaceBits);
}

export const blockOfPlace = (place: number, bits: number): number => place >> (suppressionPlaceBits - bits);

/** The places a block covers: from, and up to and including to. */
export function placesOfBlock(block: number, bits: number): { readonly from: number; readonly to: number } {
  const width = 1 << (suppressionPlaceBits - bits);
  return { from: block * width, to: (block + 1) * width - 1 };
}

/** Bits of the block number for a list of this size, so that a block has about 2,000 numbers: 0, 3, 6 or 8. */
export function suppressionBitsFor(count: number): number {
  if (count <= 2_000) return 0;
  if (count <= 16_000) return 3;
  return count <= 128_000 ? 6 : suppressionPlaceBits;
}

export function hasNumber(sorted: Float64Array, wanted: number): boolean {
  let low = 0;
  let high = sorted.length - 1;
  while (low <= high) {
    const middle = (low + high) >> 1;
    const found = sorted[middle] as number;
    if (found === wanted) return true;
    if (found < wanted) low = middle + 1;
    else high = middle - 1;
  }
  return false;
}

/** A block as text: sorted float64, little-endian, base64. */
export function encodeNumbers(numbers: Iterable<number>): string {
  const sorted = Float64Array.from(new Set(numbers)).sort();
  assert(isLittleEndian, 'a block of numbers would be written with its octets reversed');
  return Buffer.from(sorted.buffer, sorted.byteOffset, sorted.byteLength).toString('base64');
}

/** Null when the text is no block. */
export function decodeNumbers(text: string): Float64Array | null {
  const octets = Buffer.from(text, 'base64');
  if (octets.length % 8 !== 0) return null;
  // Copied, because pooled memory may be unaligned and a block must not keep it alive.
  const numbers = new Float64Array(octets.length / 8);
  new Uint8Array(numbers.buffer).set(octets);
  for (let at = 1; at < numbers.length; at += 1) {
    if (!((numbers[at] as number) > (numbers[at - 1] as number))) return null;
  }
  return numbers;
}

const isLittleEndian = new Uint8Array(Uint32Array.of(1).buffer)[0] === 1;
