// The conversion of carriers: how many of the one-time passwords that each took were entered. What is reported of a
// code and what is known of a carrier, as types. docs/otp.md explains them.

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

/** What one thread may hold. */
export type ConversionBounds = {
  readonly watchedMax: number;
  readonly scoresMax: number;
  readonly carriersMax: number;
};
