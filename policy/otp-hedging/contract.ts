// The rules of hedging that an operator sets (heliograph.yaml: otp.hedging), with their bounds. Types and
// constants; docs/otp.md explains them.

export type HedgingRules = {
  readonly enabled: boolean;
  /** What a first send earns of a second copy: at most this share of the one-time passwords of an account is hedged. */
  readonly share: number;
  /** This share of the one-time passwords is never hedged, so that reports can say what hedging changes. */
  readonly control: number;
  /** No carrier is given less time to answer, however fast it usually is. */
  readonly responseFloorMs: number;
  /** A copy also goes where the carrier has accepted the first one and its receipt does not come in time. */
  readonly receipts: boolean;
  /** No carrier is given less time for a receipt. */
  readonly receiptFloorMs: number;
};

/** Beyond these the rules make no sense: a copy of every fourth, no copy at all, a wait longer than a code is useful. */
export const hedgingBounds = {
  share: { min: 0.001, max: 0.25 },
  control: { min: 0, max: 0.5 },
  responseFloorMs: { min: 50, max: 10_000 },
  receiptFloorMs: { min: 100, max: 10_000 },
} as const;
