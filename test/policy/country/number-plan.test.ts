// The numbers of one country: E.164, the calling code, the national lengths.
import fc from 'fast-check';
import { expect, test } from 'vitest';
import { numberPlan } from '../../../policy/country/number-plan.ts';

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
