// Millions of numbers with a mark of four bits each, as one flat buffer: 2.5 bytes per number, shared by the
// threads of a process, stored and sent as it is. A number is a bucket (its value without the low 16 bits, found by
// binary search) and the low 16 bits among that bucket's sorted ones. The buffer is written once and never changed.
import { assert } from '../../platform/assert.ts';
import { limits } from '../../platform/limits.ts';
import type { NumberRegistry } from './contract.ts';

/*
 * Little-endian: magic 8 · calling code u32 · count u32 · buckets u32 · bytes of names u32 · 8 reserved
 * · bucket values f64[buckets] · first entry of each bucket u32[buckets + 1] · low bits u16[count] · marks u4[count]
 * · names as JSON.
 */
const magic = 'HGNUMS01';
const headerBytes = 32;
const bucketSize = 65_536;

/** Values above 16 times the largest key would lose bits in a double: 2 × 10^14 × 16 = 3.2 × 10^15 < 2^53. */
const nationalDigitsMax = 14;
export const marksMax = 15;

/** National digits → a number that preserves leading zeros. -1 when there are none, or too many. */
export function numberKey(digits: string, from = 0): number {
  const length = digits.length - from;
  if (length < 1 || length > nationalDigitsMax) return -1;
  let key = 1;
  for (let at = from; at < digits.length; at += 1) {
    const digit = digits.charCodeAt(at) - 0x30;
    if (digit < 0 || digit > 9) return -1;
    key = key * 10 + digit;
  }
  return key;
}

/** A key with its mark, as one number that sorts by key. */
export const packEntry = (key: number, mark: number): number => key * 16 + mark;
export const keyOfEntry = (entry: number): number => Math.floor(entry / 16);
export const markOfEntry = (entry: number): number => entry % 16;

export type TableContent = {
  readonly callingCode: string;
  /** Sorted by key, no key twice, no mark 0. */
  readonly entries: Float64Array;
  readonly names: readonly string[];
};

export function writeTable({ callingCode, entries, names }: TableContent): Uint8Array<ArrayBuffer> {
  assert(entries.length <= limits.registry.numbersMax, 'a registry of more numbers would not fit its processes');
  const count = entries.length;
  let buckets = 0;
  let before = -1;
  for (const entry of entries) {
    const bucket = Math.floor(keyOfEntry(entry) / bucketSize);
    if (bucket !== before) buckets += 1;
    before = bucket;
  }
  const namesBytes = new TextEncoder().encode(JSON.stringify(names));
  const place = placesOf(count, buckets);
  const bytes = new Uint8Array(place.names + namesBytes.length);
  const header = new DataView(bytes.buffer);
  for (let at = 0; at < magic.length; at += 1) bytes[at] = magic.charCodeAt(at);
  [Number(callingCode.slice(1)), count, buckets, namesBytes.length].forEach((value, at) =>
    header.setUint32(8 + at * 4, value, true),
  );
  bytes.set(namesBytes, place.names);

  const values = new Float64Array(bytes.buffer, place.values, buckets);
  const firsts = new Uint32Array(bytes.buffer, place.firsts, buckets + 1);
  const lows = new Uint16Array(bytes.buffer, place.lows, count);
  const marks = new Uint8Array(bytes.buffer, place.marks, (count + 1) >> 1);
  let at = -1;
  before = -1;
  let keyBefore = -1;
  for (let index = 0; index < count; index += 1) {
    const entry = entries[index] as number;
    const key = keyOfEntry(entry);
    const mark = markOfEntry(entry);
    assert(key > keyBefore && mark > 0, 'entries of a table are sorted, distinct and marked');
    keyBefore = key;
    const bucket = Math.floor(key / bucketSize);
    if (bucket !== before) {
      at += 1;
      values[at] = bucket;
      firsts[at] = index;
      before = bucket;
    }
    lows[index] = key - bucket * bucketSize;
    marks[index >> 1] = (marks[index >> 1] as number) | (mark << ((index & 1) * 4));
  }
  firsts[buckets] = count;
  return bytes;
}

type Parts = {
  readonly callingCode: string;
  readonly count: number;
  readonly names: readonly string[];
  readonly values: Float64Array;
  readonly firsts: Uint32Array;
  readonly lows: Uint16Array;
  readonly marks: Uint8Array;
};

/** Throws when the buffer is not a table: other bytes, or another version's. */
function partsOf(buffer: ArrayBufferLike): Parts {
  const found = buffer.byteLength < headerBytes ? '' : String.fromCharCode(...new Uint8Array(buffer, 0, magic.length));
  if (found !== magic) throw new Error('not a table of numbers of this version');
  const [code = 0, count = 0, buckets = 0, namesLength = 0] = new Uint32Array(buffer, 8, 4);
  const place = placesOf(count, buckets);
  if (buffer.byteLength !== place.names + namesLength) throw new Error('a table of numbers with a wrong length');
  // TextDecoder refuses shared memory, so its part is copied.
  const names = new TextDecoder().decode(new Uint8Array(buffer, place.names, namesLength).slice());
  return {
    callingCode: `+${code}`,
    count,
    names: JSON.parse(names) as string[],
    values: new Float64Array(buffer, place.values, buckets),
    firsts: new Uint32Array(buffer, place.firsts, buckets + 1),
    lows: new Uint16Array(buffer, place.lows, count),
    marks: new Uint8Array(buffer, place.marks, (count + 1) >> 1),
  };
}

/** A registry that reads this buffer in place. */
export function openTable(buffer: ArrayBufferLike, version: string): NumberRegistry & { readonly callingCode: string } {
  const { callingCode, count, names, values, firsts, lows, marks } = partsOf(buffer);
  const nationalAt = callingCode.length;
  return {
    version,
    count,
    names,
    callingCode,
    markOf(to) {
      if (!to.startsWith(callingCode)) return 0;
      const key = numberKey(to, nationalAt);
      if (key === -1) return 0;
      const bucket = Math.floor(key / bucketSize);
      const at = lowerBound(values, bucket, 0, values.length);
      if (at === values.length || values[at] !== bucket) return 0;
      const low = key - bucket * bucketSize;
      const end = firsts[at + 1] as number;
      const index = lowerBound(lows, low, firsts[at] as number, end);
      if (index === end || lows[index] !== low) return 0;
      return ((marks[index >> 1] as number) >> ((index & 1) * 4)) & 15;
    },
  };
}

/** All entries, sorted, as the base of a delta. */
export function readEntries(buffer: ArrayBufferLike): Float64Array {
  const { count, values, firsts, lows, marks } = partsOf(buffer);
  const entries = new Float64Array(count);
  for (let at = 0; at < values.length; at += 1) {
    const base = (values[at] as number) * bucketSize;
    const end = firsts[at + 1] as number;
    for (let index = firsts[at] as number; index < end; index += 1) {
      const mark = ((marks[index >> 1] as number) >> ((index & 1) * 4)) & 15;
      entries[index] = packEntry(base + (lows[index] as number), mark);
    }
  }
  return entries;
}

function placesOf(count: number, buckets: number) {
  const firsts = headerBytes + buckets * 8;
  const lows = firsts + (buckets + 1) * 4;
  const marks = lows + count * 2;
  return { values: headerBytes, firsts, lows, marks, names: marks + ((count + 1) >> 1) };
}

/** The first index in [from, to) whose value is not below `value`, or `to`. */
function lowerBound(sorted: Float64Array | Uint16Array, value: number, from: number, to: number): number {
  let low = from;
  let high = to;
  while (low < high) {
    const middle = (low + high) >>> 1;
    if ((sorted[middle] as number) < value) low = middle + 1;
    else high = middle;
  }
  return low;
}
