// Columns of rows to insert, in the octets of ClickHouse's Native format: nothing is left to be parsed, and no object is
// made for a row. A column is filled by row number; its owner calls `reserve` before it fills rows beyond the last reserve.
import { assert } from '../../platform/assert.ts';

/** Row numbers to leave out. */
export type Dropped = ReadonlySet<number>;

export type Column = {
  readonly name: string;
  /** ClickHouse's name of the type. */
  readonly type: string;
  /** Makes room for this many rows; what is there stays. */
  reserve(rows: number): void;
  /** Whether each row has the default of its type, so that the column may be left out. */
  isDefault(): boolean;
  /** The first `rows` rows without the dropped ones. */
  octets(rows: number, dropped: Dropped): readonly Uint8Array[];
};

/** Numbers of one, two or four octets. */
export class NumberColumn implements Column {
  readonly name: string;
  readonly type: string;
  #values: Words;
  #any = 0;

  constructor(name: string, type: keyof typeof numberTypes) {
    this.name = name;
    this.type = type;
    this.#values = new numberTypes[type](0);
  }

  reserve(rows: number): void {
    this.#values = grown(this.#values, rows);
  }

  set(row: number, value: number): void {
    this.#values[row] = value;
    this.#any |= value;
  }

  isDefault(): boolean {
    return this.#any === 0;
  }

  octets(rows: number, dropped: Dropped): readonly Uint8Array[] {
    return [octetsOf(kept(this.#values, rows, 1, dropped))];
  }
}

/** Whole numbers up to 2^53 in eight octets, as two words. */
export class WideColumn implements Column {
  readonly name: string;
  readonly type: string;
  #words = new Uint32Array(0);
  #any = 0;

  constructor(name: string, type: 'UInt64' | 'Int64' | "DateTime64(3, 'UTC')") {
    this.name = name;
    this.type = type;
  }

  reserve(rows: number): void {
    this.#words = grown(this.#words, rows * 2);
  }

  set(row: number, value: number): void {
    const low = value >>> 0;
    const high = (value - low) / 0x1_0000_0000;
    this.#words[row * 2] = low;
    this.#words[row * 2 + 1] = high;
    this.#any |= low | high;
  }

  isDefault(): boolean {
    return this.#any === 0;
  }

  octets(rows: number, dropped: Dropped): readonly Uint8Array[] {
    return [octetsOf(kept(this.#words, rows, 2, dropped))];
  }
}

/** FixedString of ASCII. */
export class FixedTextColumn implements Column {
  readonly name: string;
  readonly type: string;
  readonly #width: number;
  #octets = new Uint8Array(0);

  constructor(name: string, width: number) {
    this.name = name;
    this.type = `FixedString(${String(width)})`;
    this.#width = width;
  }

  reserve(rows: number): void {
    this.#octets = grown(this.#octets, rows * this.#width);
  }

  /** `text` has exactly the width's characters. */
  set(row: number, text: string): void {
    const octets = this.#octets;
    const width = this.#width;
    const from = row * width;
    for (let at = 0; at < width; at += 1) octets[from + at] = text.charCodeAt(at);
  }

  isDefault(): boolean {
    return false;
  }

  octets(rows: number, dropped: Dropped): readonly Uint8Array[] {
    return [kept(this.#octets, rows, this.#width, dropped)];
  }
}

/** String: each with its length before it. Rows are set in order. */
export class TextColumn implements Column {
  readonly name: string;
  readonly type = 'String';
  #text = Buffer.allocUnsafe(0);
  #ends = new Uint32Array(0);
  #end = 0;
  #any = false;

  constructor(name: string) {
    this.name = name;
  }

  reserve(rows: number): void {
    this.#ends = grown(this.#ends, rows);
  }

  set(row: number, text: string | null | undefined): void {
    const { length } = text ?? '';
    const most = this.#end + lengthOctetsMax + length * octetsPerUnit;
    if (most > this.#text.length) this.#grow(most);
    if (typeof text === 'string' && length > 0) {
      this.#any = true;
      if (!this.#writeShort(text, length)) this.#writeAny(text, length);
    } else {
      this.#text[this.#end] = 0;
      this.#end += 1;
    }
    this.#ends[row] = this.#end;
  }

  isDefault(): boolean {
    return !this.#any;
  }

  octets(rows: number, dropped: Dropped): readonly Uint8Array[] {
    if (dropped.size === 0) return [this.#text.subarray(0, this.#end)];
    const octets: Uint8Array[] = [];
    for (let row = 0; row < rows; row += 1) {
      if (!dropped.has(row)) octets.push(this.#text.subarray(row === 0 ? 0 : this.#ends[row - 1], this.#ends[row]));
    }
    return octets;
  }

  /** A call into the runtime costs more than these characters one by one. False: another text, nothing is written. */
  #writeShort(text: string, length: number): boolean {
    if (length > shortChars) return false;
    const octets = this.#text;
    const from = this.#end + 1;
    for (let at = 0; at < length; at += 1) {
      const code = text.charCodeAt(at);
      if (code > 0x7f) return false;
      octets[from + at] = code;
    }
    octets[this.#end] = length;
    this.#end = from + length;
    return true;
  }

  #writeAny(text: string, length: number): void {
    const octets = Buffer.byteLength(text);
    assert(octets <= length * octetsPerUnit, 'a UTF-16 unit takes at most three octets');
    this.#end = writeLength(this.#text, this.#end, octets);
    this.#end += this.#text.write(text, this.#end);
  }

  #grow(atLeast: number): void {
    const larger = Buffer.allocUnsafe(Math.max(atLeast, this.#text.length * 2, firstOctets));
    this.#text.copy(larger, 0, 0, this.#end);
    this.#text = larger;
  }
}

/** LowCardinality(String): the different texts once, and for each row which of them. */
export class DictionaryColumn implements Column {
  readonly name: string;
  readonly type = 'LowCardinality(String)';
  readonly #indexes = new Map<string, number>([['', 0]]);
  #rows = new Uint16Array(0);
  #any = false;
  #lastText = '';
  #lastIndex = 0;

  constructor(name: string) {
    this.name = name;
  }

  reserve(rows: number): void {
    this.#rows = grown(this.#rows, rows);
  }

  set(row: number, value: string | null | undefined): void {
    const text = typeof value === 'string' ? value : '';
    if (text !== this.#lastText) {
      this.#lastText = text;
      this.#lastIndex = this.#indexOf(text);
    }
    this.#rows[row] = this.#lastIndex;
    if (this.#lastIndex !== 0) this.#any = true;
  }

  isDefault(): boolean {
    return !this.#any;
  }

  octets(rows: number, dropped: Dropped): readonly Uint8Array[] {
    const indexes = kept(this.#rows, rows, 1, dropped);
    const isNarrow = this.#indexes.size <= 256;
    const keys = [...this.#indexes.keys()].map(textOctets);
    return [
      words(sharedDictionaries, 0, keysFollow | (isNarrow ? 0 : 1), 0, keys.length, 0),
      ...keys,
      words(indexes.length, 0),
      isNarrow ? Uint8Array.from(indexes) : octetsOf(indexes),
    ];
  }

  #indexOf(text: string): number {
    const known = this.#indexes.get(text);
    if (known !== undefined) return known;
    const index = this.#indexes.size;
    assert(index < 2 ** 16, 'a row has 16 bits to say which text it has');
    this.#indexes.set(text, index);
    return index;
  }
}

const numberTypes = {
  UInt8: Uint8Array,
  Bool: Uint8Array,
  UInt16: Uint16Array,
  "DateTime('UTC')": Uint32Array,
} as const;

/** A length of more than 7 bits has further octets. */
const lengthOctetsMax = 5;
const shortChars = 64;
const octetsPerUnit = 3;
const firstOctets = 64 * 1024;
/** Of LowCardinality: the only version of its keys, and the bits of "keys are here" and "they are all". */
const sharedDictionaries = 1;
const keysFollow = (1 << 9) | (1 << 10);

type Words = Uint8Array<ArrayBuffer> | Uint16Array<ArrayBuffer> | Uint32Array<ArrayBuffer>;

function grown<T extends Words>(values: T, length: number): T {
  if (values.length >= length) return values;
  const larger = new (values.constructor as new (length: number) => T)(length);
  larger.set(values);
  return larger;
}

/** `each` values of each row that is not dropped. */
function kept<T extends Words>(values: T, rows: number, each: number, dropped: Dropped): T {
  if (dropped.size === 0) return values.subarray(0, rows * each) as T;
  const left = values.slice(0, (rows - dropped.size) * each) as T;
  let to = 0;
  for (let row = 0; row < rows; row += 1) {
    if (dropped.has(row)) continue;
    for (let at = row * each; at < (row + 1) * each; at += 1) {
      left[to] = values[at] as number;
      to += 1;
    }
  }
  return left;
}

/** The machine's order of octets is ClickHouse's. */
function octetsOf(values: Words): Uint8Array {
  return new Uint8Array(values.buffer, values.byteOffset, values.byteLength);
}

const words = (...values: number[]): Uint8Array => octetsOf(Uint32Array.from(values));

function writeLength(octets: Uint8Array, from: number, length: number): number {
  let at = from;
  let left = length;
  for (; left > 0x7f; left >>>= 7) {
    octets[at] = (left & 0x7f) | 0x80;
    at += 1;
  }
  octets[at] = left;
  return at + 1;
}

export function lengthOctets(length: number): Uint8Array {
  const octets = new Uint8Array(lengthOctetsMax);
  return octets.subarray(0, writeLength(octets, 0, length));
}

export function textOctets(text: string): Uint8Array {
  const octets = Buffer.from(text);
  return Buffer.concat([lengthOctets(octets.length), octets]);
}
