// A table of numbers returns what was put in, and nothing else; snapshots and deltas give the same result as a Map.
import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import { mergeDelta, mergeSnapshot } from '../../../policy/registry/merge.ts';
import {
  keyOfEntry,
  markOfEntry,
  numberKey,
  openTable,
  packEntry,
  readEntries,
  writeTable,
} from '../../../policy/registry/number-table.ts';

const callingCode = '+880';
const national = fc.oneof(
  // Close together, so that buckets are shared, and far apart, so that they are not.
  fc.integer({ min: 1_700_000_000, max: 1_700_140_000 }).map(String),
  fc.stringMatching(/^[0-9]{4,14}$/),
);
const mark = fc.integer({ min: 1, max: 15 });
const rows = fc.array(fc.tuple(national, mark), { maxLength: 400 });
const packed = (list: readonly (readonly [string, number])[]) =>
  Float64Array.from(list.map(([digits, value]) => packEntry(numberKey(digits), value)));
const tableOf = (entries: Float64Array) => openTable(writeTable({ callingCode, entries, names: [] }).buffer, '1-test');
const mapOf = (entries: Float64Array) => new Map([...entries].map((each) => [keyOfEntry(each), markOfEntry(each)]));

describe('a table', () => {
  test('returns for every number what a Map would', () => {
    fc.assert(
      fc.property(rows, fc.array(national), (listed, others) => {
        const expected = new Map<string, number>();
        for (const [digits, value] of listed) expected.set(digits, (expected.get(digits) ?? 0) | value);
        const table = tableOf(mergeSnapshot(packed(listed), 'add').entries);
        expect(table.count).toBe(expected.size);
        for (const digits of [...expected.keys(), ...others]) {
          expect(table.markOf(`${callingCode}${digits}`)).toBe(expected.get(digits) ?? 0);
        }
      }),
    );
  });

  test('returns the entries it was made of', () => {
    fc.assert(
      fc.property(rows, (listed) => {
        const { entries } = mergeSnapshot(packed(listed), 'add');
        expect(readEntries(writeTable({ callingCode, entries, names: [] }).buffer)).toEqual(Float64Array.from(entries));
      }),
    );
  });

  test('keeps leading zeros apart', () => {
    const table = tableOf(mergeSnapshot(packed([['0123', 1]]), 'add').entries);
    expect(table.markOf('+8800123')).toBe(1);
    expect(table.markOf('+880123')).toBe(0);
    expect(table.markOf('+88000123')).toBe(0);
  });

  test.each(['', '+', '+880', '+88012x4', '+8810123', '880123', `+880${'1'.repeat(15)}`, '+880১২৩৪'])(
    'does not know %j',
    (to) => expect(tableOf(mergeSnapshot(packed([['0123', 1]]), 'add').entries).markOf(to)).toBe(0),
  );

  test('may be empty, and contains its names', () => {
    const bytes = writeTable({ callingCode, entries: new Float64Array(0), names: ['alpha', 'বেটা'] });
    expect(openTable(bytes.buffer, '1')).toMatchObject({ count: 0, names: ['alpha', 'বেটা'], callingCode });
  });

  test('refuses bytes that are not a whole table', () => {
    const bytes = writeTable({ callingCode, entries: packed([['1712345678', 4]]), names: [] });
    expect(() => openTable(bytes.buffer.slice(0, bytes.length - 1), '1')).toThrow('wrong length');
    expect(() => openTable(new ArrayBuffer(bytes.length), '1')).toThrow('not a table');
    expect(() => openTable(new ArrayBuffer(3), '1')).toThrow('not a table');
  });

  test('reads from memory that threads share', () => {
    const bytes = writeTable({ callingCode, entries: packed([['1712345678', 4]]), names: ['alpha'] });
    const shared = new SharedArrayBuffer(bytes.length);
    new Uint8Array(shared).set(bytes);
    const table = openTable(shared, '1');
    expect(table.markOf('+8801712345678')).toBe(4);
    expect(table.names).toEqual(['alpha']);
  });
});

describe('merging', () => {
  test('a snapshot does not depend on the order of its rows', () => {
    fc.assert(
      fc.property(rows, (listed) => {
        const forward = mergeSnapshot(packed(listed), 'add').entries;
        const backward = mergeSnapshot(packed([...listed].reverse()), 'add').entries;
        expect(forward).toEqual(backward);
      }),
    );
  });

  test('two carriers for one number are a conflict, the same one twice is none', () => {
    const twice = packed([
      ['1712345678', 1],
      ['1712345678', 1],
      ['1812345678', 1],
      ['1812345678', 2],
    ]);
    const { entries, conflicts } = mergeSnapshot(twice, 'conflict');
    expect(conflicts).toBe(1);
    expect(mapOf(entries)).toEqual(
      mapOf(
        packed([
          ['1712345678', 1],
          ['1812345678', 2],
        ]),
      ),
    );
  });

  test('a sequence of deltas gives the same result as a Map', () => {
    const change = fc.tuple(
      fc.integer({ min: 1_700_000_000, max: 1_700_000_040 }).map(String),
      fc.integer({ min: 0, max: 15 }),
    );
    fc.assert(
      fc.property(rows, fc.array(fc.array(change, { maxLength: 60 }), { maxLength: 5 }), (listed, deltas) => {
        let entries: Float64Array = mergeSnapshot(packed(listed), 'add').entries;
        const expected = mapOf(entries);
        for (const delta of deltas) {
          for (const [digits, value] of delta) {
            if (value === 0) expected.delete(numberKey(digits));
            else expected.set(numberKey(digits), value);
          }
          entries = mergeDelta(entries, packed(delta)).entries;
        }
        expect(mapOf(entries)).toEqual(expected);
        // Sorted and distinct, or no table could be made of it.
        expect(tableOf(entries).count).toBe(expected.size);
      }),
    );
  });

  test('a delta applied twice is applied once', () => {
    fc.assert(
      fc.property(rows, rows, (listed, delta) => {
        const once = mergeDelta(mergeSnapshot(packed(listed), 'add').entries, packed(delta)).entries;
        expect(mergeDelta(once, packed(delta)).entries).toEqual(once);
      }),
    );
  });
});
