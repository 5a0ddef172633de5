// A limit of one-time passwords as heliograph.yaml writes it, for answers: `5/10m`. config/otp-schema.ts reads that form.
import type { OtpLimit } from './contract.ts';

/** The largest unit first: 86,400,000 ms are `1d`. */
const units = [
  ['d', 86_400_000],
  ['h', 3_600_000],
  ['m', 60_000],
  ['s', 1_000],
] as const;

export function otpLimitText({ count, perMs }: OtpLimit): string {
  const [unit, unitMs] = units.find(([, ms]) => perMs % ms === 0) ?? (['s', 1_000] as const);
  return `${count}/${perMs / unitMs}${unit}`;
}
