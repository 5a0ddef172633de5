// What explain reports of a text: the segments, its costly characters, which national tables were considered, and why
// they were used or not.
import { expect, test } from 'vitest';
import { explanation } from '../../../policy/admission/explain.ts';
import type { SmsRequest } from '../../../policy/contract.ts';
import { principal, offer, request, rules } from '../rules.ts';

const carriers = [
  offer('alpha', undefined, { nationalTables: ['turkish', 'bengali'] }),
  offer('beta', undefined, { nationalTables: ['hindi'] }),
  offer('gamma'),
];
const routes = [
  { prefix: '+88018', classes: [], carriers: ['alpha', 'gamma'], choose: 'listed' as const },
  { prefix: '+88019', classes: [], carriers: ['alpha', 'beta'], choose: 'listed' as const },
];
const explain = explanation({ ...rules, carriers, routes });
const published = (message: string, over: Partial<SmsRequest> = {}) =>
  explain(principal(), request({ message, ...over }), 'sms_1').written;

test('the segments are those of the tables, and costly is what comes after their escape', () => {
  const written = published(`ış{€${'a'.repeat(100)}`);
  expect(written).toMatchObject({ encoding: 'gsm7', ucs2Because: null, segments: [{ units: 108 }] });
  expect(written?.costlyCharacters).toEqual(['ı', 'ş', '{', '€']);
});

test('a letter of the alphabet itself is not costly', () => {
  expect(published('ı'.repeat(150))).toMatchObject({ segments: [{ units: 150 }], costlyCharacters: [] });
});

test('without a route a text is counted as any phone reads it', () => {
  const written = published('ı'.repeat(150), { to: '+8801112345678' });
  expect(written).toMatchObject({ encoding: 'ucs2', nationalTables: { available: [], used: [] } });
  expect(written?.segments).toHaveLength(3);
  expect(written?.nationalTables.why).toContain('without a route');
});

test.each([
  ['taken', `ış${'a'.repeat(100)}`, {}, ['turkish'], 'taken behind the escape: 1 segment, 2 in UCS-2'],
  ['taken as the alphabet', 'ı'.repeat(150), {}, ['turkish'], 'taken as the alphabet: 1 segment, 3 in UCS-2'],
  ['saving nothing', 'ış', {}, [], 'they would save nothing: 1 segment, 1 in UCS-2, which every telephone reads'],
  ['without a character', 'ış日', {}, [], 'none of them has "日" (position 2)'],
  ['not needed', 'plain', {}, [], 'the default alphabet holds the text'],
  ['not wanted', 'ış', { encoding: 'ucs2' as const }, [], 'encoding ucs2 was asked for'],
  ['unknown to one carrier', 'ış', { to: '+8801812345678' }, [], 'gamma of the route passes on none (national_tables)'],
  ['of different carriers', 'ış', { to: '+8801912345678' }, [], 'the carriers of the route have none in common'],
])('national tables %s', (_name, message, over, used, why) => {
  expect(published(message, over)?.nationalTables).toMatchObject({ used, why });
});

test('a text that is too long is segmented as well, and one that is far too long is not', () => {
  expect(published('x'.repeat(1_531))?.segments).toHaveLength(11);
  expect(published('x'.repeat(3_061))).toBeNull();
});
