// Rows of registry files as regulators and carriers write them.
import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import { numberKey, packEntry } from '../../../policy/registry/number-table.ts';
import { headingOf, rowReader, usualColumns, withoutMark } from '../../../policy/registry/row.ts';

const country = { callingCode: '+880', nationalLengths: [10], trunkPrefix: '0' };
const markOf = (value: string) => ({ '': 4, all: 6, none: 0 })[value] ?? 'not a preference';
const snapshot = rowReader({ country, delta: false, markOf }, usualColumns(false));
const delta = rowReader({ country, delta: true, markOf }, usualColumns(true));
const entry = (mark: number) => ({ kind: 'entry', entry: packEntry(numberKey('1712345678'), mark) });

test.each([
  ['+8801712345678', entry(4)],
  ['8801712345678', entry(4)],
  ['008801712345678', entry(4)],
  ['01712345678', entry(4)],
  ['1712345678', entry(4)],
  ['01712-345 678,all', entry(6)],
  ['"01712345678","all"', entry(6)],
  [' 1712345678 , all ', entry(6)],
  ['1712345678,none', { kind: 'empty' }],
  ['', { kind: 'empty' }],
  ['   ', { kind: 'empty' }],
  ['+14155550123', { kind: 'not_served' }],
  ['029898989', { kind: 'not_served' }],
  ['171234567', { kind: 'not_served' }],
  ['1712345678,everything', { kind: 'bad', why: 'not a preference' }],
  ['not a number', { kind: 'bad', why: 'not a phone number' }],
  ['1234', { kind: 'bad', why: 'not a phone number' }],
  ['01712345678;all', { kind: 'bad', why: 'not a phone number: columns must be separated by commas' }],
  ['01712345678\tall', { kind: 'bad', why: 'not a phone number: columns must be separated by commas' }],
  ['-,01712345678', { kind: 'bad', why: 'begins with + or -, as rows of changes do: add --delta' }],
  ['12345678901234567', { kind: 'bad', why: 'not a phone number' }],
  [',all', { kind: 'bad', why: 'not a phone number' }],
  ['+৮৮০১৭১২৩৪৫৬৭৮', { kind: 'bad', why: 'not a phone number' }],
])('%j', (line, row) => expect(snapshot(line)).toEqual(row));

test.each([
  ['+,1712345678', entry(4)],
  ['+,1712345678,all', entry(6)],
  ['-,1712345678', entry(0)],
  ['-,1712345678,whatever', entry(0)],
  ['+,1712345678,none', entry(0)],
  ['1712345678', { kind: 'bad', why: 'the row must begin with + or - and a comma' }],
])('a change: %j', (line, row) => expect(delta(line)).toEqual(row));

describe('the heading', () => {
  test.each([
    ['number,preferences', { number: 0, value: 1, change: -1 }],
    ['\u00EF\u00BB\u00BF"MSISDN"', { number: 0, value: -1, change: -1 }],
    ['date,Phone,Carrier', { number: 1, value: 2, change: -1 }],
  ])('%j', (line, columns) => expect(headingOf(withoutMark(line), false)).toEqual(columns));
  test('a row is none', () => expect(headingOf('01712345678,all', false)).toBeNull());
  test('of a delta names the changes', () =>
    expect(headingOf('number,op', true)).toEqual({ number: 0, value: -1, change: 1 }));
  test('of another kind of file is reported as such', () => {
    expect(headingOf('change,number', false)).toEqual({ why: expect.stringContaining('add --delta') });
    expect(headingOf('number,preferences', true)).toEqual({ why: expect.stringContaining('without --delta') });
  });
});

test('numbers of different lengths are distinguished by their prefix', () => {
  const france = { callingCode: '+33', nationalLengths: [9], lengthsByPrefix: { '700': [13] }, trunkPrefix: '0' };
  const read = rowReader({ country: france, delta: false, markOf }, usualColumns(false));
  expect(read('0612345678')).toMatchObject({ entry: packEntry(numberKey('612345678'), 4) });
  expect(read('+337001234567890')).toMatchObject({ entry: packEntry(numberKey('7001234567890'), 4) });
  expect(read('+33700123456')).toEqual({ kind: 'not_served' });
});

test('no line makes it throw, and every number it accepts is one of the plan', () => {
  const text = fc.oneof(fc.string(), fc.string({ unit: fc.constantFrom(...'+-0178,"| a\r\n') }));
  fc.assert(
    fc.property(text, (line) => {
      const row = snapshot(line);
      if (row.kind !== 'entry') return;
      expect(String(Math.floor(row.entry / 16))).toMatch(/^1[0-9]{10}$/);
    }),
  );
});
