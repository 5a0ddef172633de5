// What explain says of a text in national tables: the segments that would go out, and what is dear in them.
import { expect, test } from 'vitest';
import { explanation } from '../../../policy/admission/explain.ts';
import { applicant, offer, request, rules } from '../rules.ts';

const carriers = [offer('alpha', undefined, { nationalTables: ['turkish', 'bengali'] })];
const explain = explanation({ ...rules, carriers });
const told = (message: string, to = '+8801712345678') => explain(applicant(), request({ message, to }), 'sms_1');

test('the segments are those of the tables, and costly is what stands behind their escape', () => {
  const { encoding, segments, costlyCharacters, ucs2Because } = told(`ış{€${'a'.repeat(100)}`);
  expect([encoding, ucs2Because]).toEqual(['gsm7', null]);
  expect(segments).toMatchObject([{ units: 108 }]);
  expect(costlyCharacters).toEqual(['ı', 'ş', '{', '€']);
});

test('a letter of the alphabet itself is not costly', () => {
  const { segments, costlyCharacters } = told('ı'.repeat(150));
  expect(segments).toMatchObject([{ units: 150 }]);
  expect(costlyCharacters).toEqual([]);
});

test('without a route a text is counted as any telephone reads it', () => {
  expect(told('ı'.repeat(150), '+8801112345678')).toMatchObject({ encoding: 'ucs2', routes: [] });
  expect(told('ı'.repeat(150), '+8801112345678').segments).toHaveLength(3);
});
