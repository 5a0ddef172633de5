// The form of international numbers: the fast check equals the plain rule.
import fc from 'fast-check';
import { expect, test } from 'vitest';
import { isE164 } from '../../model/e164.ts';

const rule = /^\+[1-9]\d{6,14}$/;

test('seven digits and fifteen are a number, six and sixteen are none', () => {
  expect(['+1234567', '+123456789012345'].map(isE164)).toEqual([true, true]);
  expect(['+123456', '+1234567890123456'].map(isE164)).toEqual([false, false]);
});

test('any text gets the result of the rule', () => {
  const near = fc.stringMatching(/^\+{0,2}[0-9]{5,17}[ a\n]?$/);
  fc.assert(fc.property(fc.oneof(near, fc.string()), (text) => isE164(text) === rule.test(text)));
});
