// What an operator sets of the guard (heliograph.yaml: otp.guard), and the defaults. Types and constants.
import type { GuardModes, SwitchedRule } from './contract.ts';

export const guardRules = [
  'destination',
  'conversion',
  'partial_conversion',
  'velocity',
  'sequence',
  'clients',
] as const satisfies readonly SwitchedRule[];

export const guardModes = ['on', 'shadow', 'off'] as const;

export type OtpGuardRules = {
  readonly modes: GuardModes;
  /** Prefixes with the plus sign that accounts without a list of their own send to. */
  readonly destinations: readonly string[];
  /** Numbers and prefixes that no rule refuses, for every account. */
  readonly safeList: readonly string[];
};

/** All on: in the simulation of docs/otp-guard.md none of them refuses ordinary use. */
export const guardModesDefault: GuardModes = {
  destination: 'on',
  conversion: 'on',
  partial_conversion: 'on',
  velocity: 'on',
  sequence: 'on',
  clients: 'on',
};
