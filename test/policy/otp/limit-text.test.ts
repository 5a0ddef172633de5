// The text of a limit is the one that heliograph.yaml takes for it.
import { expect, test } from 'vitest';
import { otpLimitOf } from '../../../config/otp-schema.ts';
import { otpCounted, otpDimensions, otpLimitsDefault } from '../../../policy/otp/contract.ts';
import { otpLimitText } from '../../../policy/otp/limit-text.ts';

test.each([
  [{ count: 5, perMs: 600_000 }, '5/10m'],
  [{ count: 500, perMs: 1_000 }, '500/1s'],
  [{ count: 20, perMs: 86_400_000 }, '20/1d'],
  [{ count: 3, perMs: 90_000 }, '3/90s'],
])('%j is %s', (limit, text) => {
  expect(otpLimitText(limit)).toBe(text);
});

test('each default is read again as it was', () => {
  const all = otpCounted.flatMap((counted) => otpDimensions.map((dimension) => otpLimitsDefault[counted][dimension]));
  expect(all.map((limit) => otpLimitOf(otpLimitText(limit)))).toEqual(all);
});
