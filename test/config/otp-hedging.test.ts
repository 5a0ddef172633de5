// otp.hedging of heliograph.yaml: its defaults, and each bound from both sides.
import { expect, test } from 'vitest';
import { otpSchema } from '../../config/otp-schema.ts';
import { hedgingRulesDefault } from '../../policy/otp/contract.ts';

const read = (hedging: object) => otpSchema.safeParse({ hedging });

test('without anything it is on, with a twentieth and a control group', () => {
  expect(otpSchema.parse(undefined).hedging).toEqual(hedgingRulesDefault);
  expect(read({ enabled: false }).data?.hedging).toEqual({ ...hedgingRulesDefault, enabled: false });
  expect(read({ receipts: false }).data?.hedging).toEqual({ ...hedgingRulesDefault, receipts: false });
});

test.each([
  ['share', 0.001, 0.25, 0.0009, 0.26],
  ['control', 0, 0.5, -0.1, 0.51],
  ['response_floor_ms', 50, 10_000, 49, 10_001],
  ['receipt_floor_ms', 100, 10_000, 99, 10_001],
] as const)('%s has bounds', (name, least, most, below, above) => {
  for (const good of [least, most]) expect(read({ [name]: good }).success).toBe(true);
  for (const bad of [below, above, 'x', null]) expect(read({ [name]: bad }).success).toBe(false);
});
