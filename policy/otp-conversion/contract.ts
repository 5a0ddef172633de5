// The conversion of carriers: how many of the one-time passwords that each took were entered. What is told of a code, what
// is known of a carrier, and the figures of both, as types and constants. docs/otp.md explains them.
import { thresholds as guard } from '../otp-guard/thresholds.ts';

/** What is counted together. */
export type ConversionPlace = {
  readonly carrier: string;
  /** The carrier that the number belongs to, which need not be the one that delivers. */
  readonly operator: string;
  readonly sender: string;
};

/** A code whose message its carrier took: submit_sm_resp with status 0 (SMPP 3.4, 4.4.2). */
export type TakenCode = ConversionPlace & { readonly messageId: string };

/** Codes that were entered within two minutes, and those that were not; older ones as fractions. */
export type ConversionScore = { readonly verified: number; readonly missed: number };

export type ConversionView = { of(place: ConversionPlace): ConversionScore };

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

/** What one thread may hold. */
export type ConversionBounds = {
  readonly watchedMax: number;
  readonly scoresMax: number;
  readonly carriersMax: number;
};
