// The figures by which conversion is counted and routes are drawn, each with its arithmetic. They are constants and not
// settings: docs/otp.md has what they bring about.
import { thresholds as guard } from '../otp-guard/thresholds.ts';

export const conversionFigures = {
  /** A code counts when so long has passed since its carrier took it, entered or not: before that it is not known. */
  maturityMs: guard.maturityMs,
  /** After so long a code counts half. */
  halfLifeMs: 15 * 60_000,
  /** Codes of each kind that every carrier is taken to have had: the draw between unknown ones is even. */
  prior: 1,
  /** The share of a route that every usable carrier keeps, so that it is still measured. */
  floorShare: 0.02,
  /** A carrier is demoted when another one's conversion is surely higher by more than this … */
  demotedBy: 0.03,
  /** … with so many codes of each, */
  demotedFromCodes: 100,
  /** by Wilson's bounds at 95 %, as in the report `otp-trust`. */
  z: 1.96,
} as const;
