// The numbers of one country: E.164, the calling code, the national lengths.
import fc from 'fast-check';
import { expect, test } from 'vitest';
import { homeCarriers, longestPrefix, numberPlan, operatorPrefixes } from '../../../policy/country/number-plan.ts';
import { rules } from '../rules.ts';

const plan = numberPlan({ callingCode: '+880', nationalLengths: [8, 10], prefixes: {} });

test.each([
  ['+8801712345678', null],
  ['+88017123456', null],
  ['+880171234567', 'invalid_recipient'],
  ['+88017123456789', 'invalid_recipient'],
  ['8801712345678', 'invalid_recipient'],
  ['+0801712345678', 'invalid_recipient'],
  ['+880 1712345678', 'invalid_recipient'],
  ['+8801712345678\n', 'invalid_recipient'],
  ['+৮৮০১৭১২৩৪৫৬৭৮', 'invalid_recipient'],
  ['', 'invalid_recipient'],
  ['+1234567890123456', 'invalid_recipient'],
  ['+123456789012345', 'unsupported_destination'],
  ['+1234567', 'unsupported_destination'],
  ['+123456', 'invalid_recipient'],
])('%j', (to, code) => expect(plan.refuse(to)?.code ?? null).toBe(code));

test('an admitted number has the calling code and one of the lengths', () => {
  const digits = fc.string({ unit: fc.constantFrom(...'0123456789'), maxLength: 14 });
  fc.assert(
    fc.property(digits, (national) => {
      const refused = plan.refuse(`+880${national}`) !== null;
      expect(refused).toBe(![8, 10].includes(national.length));
    }),
  );
});

test('a number belongs to the longest prefix that it begins with; one without a prefix, or from elsewhere, to none', () => {
  const prefixOf = operatorPrefixes({
    ...{ callingCode: '+880', nationalLengths: [10] },
    prefixes: { 17: 'large', 171: 'small', 13: 'middle' },
  });
  expect(['+8801712345678', '+8801722345678', '+8801312345678'].map(prefixOf)).toEqual(['171', '17', '13']);
  expect(['+8801912345678', '+8801', '+4917123456'].map(prefixOf)).toEqual(['', '', '']);
});

test('of any prefixes the longest is found, if there is one', () => {
  const digits = fc.string({ unit: fc.constantFrom(...'123'), maxLength: 5 });
  fc.assert(
    fc.property(fc.array(digits), digits, (prefixes, number) => {
      const fitting = prefixes.filter((prefix) => number.startsWith(prefix)).map(({ length }) => length);
      expect(longestPrefix(prefixes)(number)?.length).toBe(fitting.length === 0 ? undefined : Math.max(...fitting));
    }),
  );
});

test('a number belongs to the configured carrier it was ported to, else that of its longest prefix', () => {
  const ported = new Map([
    ['+8801712345678', 'beta'],
    ['+8801812345678', 'not configured'],
  ]);
  const homeOf = homeCarriers(rules, (to) => ported.get(to) ?? null);
  expect(homeOf('+8801712345678')).toEqual({ carrier: 'beta', why: 'ported to beta' });
  expect(homeOf('+8801812345678')).toEqual({ carrier: 'beta', why: 'prefix 18' });
  expect(homeOf('+8801719345678')).toEqual({ carrier: 'gamma', why: 'prefix 1719' });
  expect(homeOf('+8801612345678')).toBeNull();
});
