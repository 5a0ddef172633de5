// What the guard against fraud with one-time passwords is asked, what is reported to it, and what it answers. Types and
// constants. Every decision is a value with its rule, its figure and its threshold, so that it can be an event, a row
// of a list and a log line as it is.

/**
 * destination: a country that the account does not send to · conversion: almost nobody of a block of numbers enters the
 * code · partial_conversion: too few do, as when a fraudster enters some himself · velocity: more numbers of a block wait
 * for their code to be entered than usual · sequence: numbers that follow each other · clients: many numbers from one
 * address or device · operator: a person ordered it.
 */
export const guardRules = [
  'destination',
  'conversion',
  'partial_conversion',
  'velocity',
  'sequence',
  'clients',
] as const;
/** The rules that have a mode; what a person orders is always in effect. */
export type SwitchedRule = (typeof guardRules)[number];
export type GuardRule = SwitchedRule | 'operator';

export const guardModes = ['on', 'shadow', 'off'] as const;
/** shadow: what the rule would refuse is sent, and reported; for the other rules it is as if this one were off. */
export type GuardMode = (typeof guardModes)[number];
export type GuardModes = Readonly<Record<SwitchedRule, GuardMode>>;

/** How many digits of a number a block leaves open: 4 for a block of 10^4 numbers, 6 for one of 10^6. */
export type OpenDigits = 4 | 6;

/** Why a request is refused, or in shadow mode would be. */
export type GuardFinding = {
  readonly rule: GuardRule;
  /** challenge: lets the request pass when the caller has shown that a person is there. */
  readonly action: 'block' | 'challenge';
  /** What was judged: a prefix of numbers, or a client (`ip 192.0.2.1`). */
  readonly scope: string;
  readonly statistic: number;
  readonly threshold: number;
  readonly shadow: boolean;
  /** When a repeat may pass, as far as is known. */
  readonly retryAfterMs: number;
  /** Of the rule `destination`: the prefixes that the account sends to. */
  readonly allowed?: readonly string[];
};

export type GuardVerdict = {
  /** The finding that refuses the request; null when it may be sent. */
  readonly refusal: GuardFinding | null;
  /** What rules in shadow mode would have refused it for. */
  readonly shadow: readonly GuardFinding[];
  /** Sent although its block is blocked, to learn whether the code is entered. */
  readonly isProbe: boolean;
  /**
   * Why it would be refused if it were no probe, or the caller did not say that a challenge was passed; null without reason.
   */
  readonly letThrough: { readonly as: 'probe' | 'challenge_passed'; readonly finding: GuardFinding } | null;
  /** A rule found something, also one that does not refuse it: what becomes of the code says nothing about its carrier. */
  readonly isFlagged: boolean;
};

export type GuardRequest = {
  readonly accountId: string;
  /** E.164 with the plus sign. */
  readonly to: string;
  /** Address and device of the person who asks for the code, as the caller passes them. */
  readonly ip: string | null;
  readonly device: string | null;
  /** The caller says that the person has passed a challenge. */
  readonly challengePassed: boolean;
  /** The same code once more: blocks refuse it, and too many messages that wait. It is no probe. */
  readonly isResend: boolean;
  /** Prefixes with the plus sign that the account sends to. */
  readonly destinations: readonly string[];
};

/** A message with a code, accepted. `carrier`: empty where it is not known. */
export type GuardSend = Pick<GuardRequest, 'accountId' | 'to' | 'ip' | 'device'> & {
  readonly carrier: string;
  readonly isProbe: boolean;
  /** The client's own code, which may be verified elsewhere: it counts, and what becomes of it is not judged. */
  readonly ownCode?: boolean;
};

export type GuardNumber = Pick<GuardRequest, 'accountId' | 'to'>;

/** A block of numbers to which an account's codes are not sent for a time. */
export type NumberBlock = {
  readonly accountId: string;
  /** With the plus sign. */
  readonly prefix: string;
  readonly rule: GuardRule;
  readonly statistic: number;
  readonly threshold: number;
  /** Its number in a row of blocks, from 1; each lasts twice as long as the one before. */
  readonly times: number;
  readonly durationMs: number;
  readonly shadow: boolean;
};

export type GuardEvent =
  /** `insteadOf`: the block of 10^4 numbers that was found, where its 10^6 are blocked (`wideBlocksFrom`); else null. */
  | ({ readonly kind: 'blocked'; readonly insteadOf: string | null } & NumberBlock)
  /** A rule found a block of numbers, and no more blocks may be in effect for the account. */
  | ({ readonly kind: 'beyond_share' } & Pick<NumberBlock, 'accountId' | 'prefix' | 'rule' | 'shadow'>)
  /** A probe was verified. `leftMs`: how long the block would have lasted. */
  | { readonly kind: 'released'; readonly accountId: string; readonly prefix: string; readonly leftMs: number }
  /** `accountIds`: those that sent codes by the carrier lately, of many the last ones. */
  | ({ readonly kind: 'suspended'; readonly accountIds: readonly string[] } & CarrierOutage)
  | ({ readonly kind: 'resumed' } & CarrierOutage)
  /** So many codes in a row did not arrive at these numbers, and no more were sent than usual: an outage, no fraud. */
  | ({ readonly kind: 'unreachable' } & NumbersOutage)
  /** Its end: codes arrive again, it lasts too long, or more are sent than usual. */
  | ({ readonly kind: 'unreachable_over' } & NumbersOutage);

/** An outage of a block of numbers of an account, in which misses without a receipt do not count; or its end. */
export type NumbersOutage = {
  readonly accountId: string;
  /** With the plus sign. */
  readonly prefix: string;
  /** How many codes in a row did not arrive. */
  readonly codes: number;
};

/** Receipts of a carrier fall together with verifications: an outage, in which nothing is blocked; or its end. */
export type CarrierOutage = {
  readonly carrier: string;
  /** The share of the carrier's prefixes where both fell. */
  readonly statistic: number;
  readonly threshold: number;
};

/** What one guard may hold; the share is what one account may have of it. */
export type GuardBounds = {
  readonly accountsMax: number;
  readonly pendingMax: number;
  readonly pendingShare: number;
  readonly historiesMax: number;
  readonly historiesShare: number;
  readonly clientNumbersShare: number;
  readonly blocksShare: number;
  /** With so many in effect rules block no more. */
  readonly ruleBlocksShare: number;
  /** With so many by rules in effect the next one is of 10^6 numbers: those of a country are few. */
  readonly wideBlocksFrom: number;
  readonly carriersMax: number;
  readonly carrierPrefixesMax: number;
  readonly outageAccountsMax: number;
};

export type OtpGuardRules = {
  readonly modes: GuardModes;
  /** Prefixes with the plus sign that accounts without a list of their own send to; empty: the country's calling code. */
  readonly destinations: readonly string[];
  /** Numbers and prefixes that no rule refuses and that count nowhere, for every account. */
  readonly safeList: readonly string[];
};
