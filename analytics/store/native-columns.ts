// Columns of rows to insert, in the octets of ClickHouse's Native format: nothing is left to be parsed, and no object is
// made for a row. A column is filled by row number; its owner calls `reserve` before it fills rows beyond the last reserve.
import { assert } from '../../platform/assert.ts';
import { Names } from './names.ts';

/** Row numbers to leave out. */
export type Dropped = ReadonlySet<number>;

export abstract class Column {
  readonly name: string;
  /** ClickHouse's name of the type. */
  readonly type: string;
  /** 0 while each row has the default of its type. */
  protected any = 0;

  constructor(name: string, type: string) {
    this.name = name;
    this.type = type;
  }

  /** Makes room for this many rows; what is there stays. */
  abstract reserve(rows: number): void;

  /** Whether each row has the default of its type, so that the column may be left out. */
  isDefault(): boolean {
    return this.any === 0;
  }

  /** The first `rows` rows without the dropped ones. */
  abstract octets(rows: number, dropped: Dropped): readonly Uint8Array[];
}

/** `each` values for each row. */
abstract class ArrayColumn<T extends Words> extends Column {
  protected values: T;
  readonly #each: number;

  constructor(name: string, type: string, values: T, each: number) {
    super(name, type);
    this.values = values;
    this.#each = each;
  }

  override reserve(rows: number): void {
    this.values = grown(this.values, rows * this.#each);
  }

  override octets(rows: number, dropped: Dropped): readonly Uint8Array[] {
    return [octetsOf(kept(this.values, rows, this.#each, dropped))];
  }
}

/** Numbers of one, two or four octets. */
export class NumberColumn extends ArrayColumn<Words> {
  constructor(name: string, type: keyof typeof numberTypes) {
    super(name, type, new numberTypes[type](0), 1);
  }

  set(row: number, value: number): void {
    this.values[row] = value;
    this.any |= value;
  }
}

/** Whole numbers up to 2^53 in eight octets, as two words. */
export class WideColumn extends ArrayColumn<Uint32Array<ArrayBuffer>> {
  constructor(name: string, type: 'UInt64' | 'Int64' | "DateTime64(3, 'UTC')") {
    super(name, type, new Uint32Array(0), 2);
  }

  set(row: number, value: number): void {
    const low = value >>> 0;
    this.setWords(row, low, (value - low) / 0x1_0000_0000);
  }

  /** A value of 64 bits, which is no exact number. */
  setWords(row: number, low: number, high: number): void {
    this.values[row * 2] = low;
    this.values[row * 2 + 1] = high;
    this.any |= low | high;
  }
}

/** FixedString of ASCII. */
export class FixedTextColumn extends ArrayColumn<Uint8Array<ArrayBuffer>> {
  readonly #width: number;

  constructor(name: string, width: number) {
    super(name, `FixedString(${String(width)})`, new Uint8Array(0), width);
    this.#width = width;
  }

  /** `text` has exactly the width's characters. */
  set(row: number, text: string): void {
    const octets = this.values;
    const width = this.#width;
    const from = row * width;
    for (let at = 0; at < width; at += 1) octets[from + at] = text.charCodeAt(at);
  }

  override isDefault(): boolean {
    return false;
  }
}

/** String: each with its length before it. Rows are set in order. */
export class TextColumn extends Column {
  #text = Buffer.allocUnsafe(0);
  #ends = new Uint32Array(0);
  #end = 0;

  constructor(name: string) {
    super(name, 'String');
  }

  override reserve(rows: number): void {
    this.#ends = grown(this.#ends, rows);
  }

  set(row: number, text: string | null | undefined): void {
    const { length } = text ?? '';
    const most = this.#end + lengthOctetsMax + length * octetsPerUnit;
    if (most > this.#text.length) this.#grow(most);
    if (typeof text === 'string' && length > 0) {
      this.any = 1;
      if (!this.#writeShort(text, length)) this.#writeAny(text, length);
    } else {
      this.#text[this.#end] = 0;
      this.#end += 1;
    }
    this.#ends[row] = this.#end;
  }

  override octets(rows: number, dropped: Dropped): readonly Uint8Array[] {
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
export class DictionaryColumn extends Column {
  readonly #texts = new Names();
  #rows = new Uint16Array(0);
  #lastText = '';
  #lastIndex = 0;

  constructor(name: string) {
    super(name, 'LowCardinality(String)');
  }

  override reserve(rows: number): void {
    this.#rows = grown(this.#rows, rows);
  }

  set(row: number, value: string | null | undefined): void {
    const text = typeof value === 'string' ? value : '';
    if (text !== this.#lastText) {
      this.#lastText = text;
      this.#lastIndex = this.#texts.indexOf(text);
      assert(this.#lastIndex < 2 ** 16, 'a row has 16 bits to say which text it has');
    }
    this.#rows[row] = this.#lastIndex;
    this.any |= this.#lastIndex;
  }

  override octets(rows: number, dropped: Dropped): readonly Uint8Array[] {
    const indexes = kept(this.#rows, rows, 1, dropped);
    const { texts } = this.#texts;
    const isNarrow = texts.length <= 256;
    return [
      words(sharedDictionaries, 0, keysFollow | (isNarrow ? 0 : 1), 0, texts.length, 0),
      ...texts.map(textOctets),
      words(indexes.length, 0),
      isNarrow ? Uint8Array.from(indexes) : octetsOf(indexes),
    ];
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
