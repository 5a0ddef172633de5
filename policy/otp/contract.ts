// The rules of one-time passwords that an operator sets (heliograph.yaml: otp), with their defaults. Types and constants.
import type { OtpTexts } from '../../model/otp-text.ts';
import type { HedgingRules } from '../otp-hedging/contract.ts';
import type { GuardModes, OtpGuardRules } from '../otp-guard/contract.ts';

/**
 * `count` in each period. Of a number's sends and wrong guesses the record counts (number-limits.ts), of everything else the
 * memory (api/http/otp/otp-rates.ts), with bounds of platform/limits-otp.ts; docs/otp.md, Limits, has the order.
 */
export type OtpLimit = { readonly count: number; readonly perMs: number };

/** What a limit counts over. prefix: the number without its last four digits. */
export const otpDimensions = ['number', 'prefix', 'client_ip', 'device_id', 'account'] as const;
export type OtpDimension = (typeof otpDimensions)[number];

/** sends: messages with a code · verifications: calls of /verify · guesses: wrong ones. */
export const otpCounted = ['sends', 'verifications', 'guesses'] as const;
export type OtpCounted = (typeof otpCounted)[number];

export type OtpLimits = Readonly<Record<OtpCounted, Readonly<Record<OtpDimension, OtpLimit>>>>;

export type OtpRules = {
  readonly texts: OtpTexts;
  /** The language of a request that names none. */
  readonly language: string;
  readonly limits: OtpLimits;
  readonly guard: OtpGuardRules;
  readonly hedging: HedgingRules;
};

const second = 1_000;
const minute = 60 * second;
const hour = 60 * minute;
const per = (count: number, perMs: number): OtpLimit => ({ count, perMs });

/** Each line says what it is for; docs/otp.md has the arithmetic. */
export const otpLimitsDefault: OtpLimits = {
  sends: {
    number: per(5, 10 * minute),
    // Ten thousand numbers: a campaign of sign-ups does not reach it, a run through a block does in seconds.
    prefix: per(1_000, hour),
    // Hundreds of people of an office or a mobile network share an address; the guard's rule `clients` counts only those
    // who did not enter their code.
    client_ip: per(1_000, hour),
    device_id: per(20, hour),
    account: per(500, second),
  },
  verifications: {
    number: per(300, 10 * minute),
    prefix: per(5_000, hour),
    client_ip: per(3_000, hour),
    device_id: per(60, hour),
    account: per(1_000, second),
  },
  guesses: {
    // Five guesses at five codes each ten minutes would be 3,600 a day, 0.36 % at six digits; twenty are 0.002 %.
    number: per(20, 24 * hour),
    prefix: per(500, hour),
    client_ip: per(300, hour),
    device_id: per(20, hour),
    account: per(7_200, hour),
  },
};

/** The numbers in digits of ASCII, the code among the first forty characters, no link. */
export const otpTextsShipped: OtpTexts = {
  en: {
    plain: '{code} is your code. Do not share it with anyone.',
    branded: '{code} is your {brand} code. Do not share it with anyone.',
  },
  bn: { plain: '{code} আপনার কোড। কাউকে দেবেন না।', branded: '{code} আপনার {brand} কোড।' },
};

/** All on: in the simulation of docs/otp-guard.md none of the rules refuses ordinary use. */
export const guardModesDefault: GuardModes = {
  destination: 'on',
  conversion: 'on',
  partial_conversion: 'on',
  velocity: 'on',
  sequence: 'on',
  clients: 'on',
};

/** The Tail at Scale (Dean, Barroso): a copy after the p95 is 5 % more load. A tenth without copies shows what they change. */
export const hedgingRulesDefault: HedgingRules = {
  enabled: true,
  share: 0.05,
  control: 0.1,
  responseFloorMs: 250,
  receipts: true,
  receiptFloorMs: 500,
};

export const otpRulesDefault: OtpRules = {
  texts: otpTextsShipped,
  language: 'en',
  limits: otpLimitsDefault,
  guard: { modes: guardModesDefault, destinations: [], safeList: [] },
  hedging: hedgingRulesDefault,
};
