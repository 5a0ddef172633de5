// Structs of Thrift's compact protocol, as far as Parquet uses it: read as a tree, and written again. Whole numbers are
// bigints, whatever their size.
import { assert } from '../../platform/assert.ts';

const types = {
  true: 1,
  false: 2,
  octet: 3,
  i16: 4,
  i32: 5,
  i64: 6,
  double: 7,
  binary: 8,
  list: 9,
  struct: 12,
} as const;
export const thrift = types;

/** `raw` instead of a struct: one that was written before. */
export type Value = bigint | boolean | Buffer | List | Struct | { readonly raw: Buffer };
export type List = { readonly type: number; readonly items: readonly Value[] };
export type Struct = Map<number, { readonly type: number; readonly value: Value }>;

export function readStruct(octets: Buffer): Struct {
  let at = 0;

  function octet(): number {
    const value = octets[at];
    assert(value !== undefined, 'the whole struct');
    at += 1;
    return value;
  }
  function varint(): bigint {
    let value = 0n;
    for (let shift = 0n; ; shift += 7n) {
      const next = octet();
      value |= BigInt(next & 0x7f) << shift;
      if (next < 0x80) return value;
    }
  }
  const whole = (): bigint => {
    const value = varint();
    return (value >> 1n) ^ -(value & 1n);
  };
  function taken(length: number): Buffer {
    assert(at + length <= octets.length, 'the whole value');
    at += length;
    return octets.subarray(at - length, at);
  }
  function list(): List {
    const head = octet();
    const length = head >> 4 === 15 ? Number(varint()) : head >> 4;
    const type = head & 0x0f;
    const item = () => (type === types.true || type === types.false ? octet() === 1 : valueOf(type));
    return { type, items: Array.from({ length }, item) };
  }
  function struct(): Struct {
    const fields: Struct = new Map();
    for (let id = 0; ; ) {
      const head = octet();
      if (head === 0) return fields;
      id = head >> 4 === 0 ? Number(whole()) : id + (head >> 4);
      const type = head & 0x0f;
      fields.set(id, { type, value: valueOf(type) });
    }
  }
  function valueOf(type: number): Value {
    if (type === types.true || type === types.false) return type === types.true;
    if (type === types.octet) return taken(1);
    if (type === types.double) return taken(8);
    if (type === types.binary) return taken(Number(varint()));
    if (type === types.list) return list();
    if (type === types.struct) return struct();
    assert(type === types.i16 || type === types.i32 || type === types.i64, 'a type that Parquet uses');
    return whole();
  }
  return struct();
}

export function writeStruct(fields: Struct): Buffer {
  const written: Buffer[] = [];
  putStruct(written, fields);
  return Buffer.concat(written);
}

function putStruct(to: Buffer[], fields: Struct): void {
  let before = 0;
  for (const [id, { type, value }] of [...fields].sort(([one], [other]) => one - other)) {
    const step = id - before;
    to.push(step < 16 ? Buffer.of((step << 4) | type) : Buffer.concat([Buffer.of(type), whole(BigInt(id))]));
    before = id;
    // The type of a boolean field is its value.
    if (typeof value !== 'boolean') putValue(to, type, value);
  }
  to.push(Buffer.of(0));
}

function putValue(to: Buffer[], type: number, value: Value): void {
  if (typeof value === 'bigint') return void to.push(whole(value));
  if (typeof value === 'boolean') return void to.push(Buffer.of(value ? 1 : 2));
  if (Buffer.isBuffer(value)) {
    if (type === types.binary) to.push(varint(BigInt(value.length)));
    return void to.push(value);
  }
  if (value instanceof Map) return putStruct(to, value);
  if ('raw' in value) return void to.push(value.raw);
  const { length } = value.items;
  to.push(
    length < 15
      ? Buffer.of((length << 4) | value.type)
      : Buffer.concat([Buffer.of(0xf0 | value.type), varint(BigInt(length))]),
  );
  for (const item of value.items) putValue(to, value.type, item);
}

const whole = (value: bigint): Buffer => varint(BigInt.asUintN(64, (value << 1n) ^ (value >> 63n)));

function varint(value: bigint): Buffer {
  const octets: number[] = [];
  let rest = value;
  for (; rest >= 0x80n; rest >>= 7n) octets.push(Number(rest & 0x7fn) | 0x80);
  octets.push(Number(rest));
  return Buffer.from(octets);
}
