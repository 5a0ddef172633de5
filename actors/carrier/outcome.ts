// What a submit_sm_resp's command_status means for the message: one pure function over one table (SMPP 3.4
// section 5.1.3). A carrier's own meaning for a status comes from heliograph.yaml and wins.
import type { CarrierErrorAction } from '../../cluster/config/configuration.ts';
import type { Category } from '../../model/message.ts';
import { jitteredBackoffMs, type Random, systemRandom } from '../../platform/random.ts';

export type Outcome =
  | { readonly action: 'submitted' }
  /** Not now: try again after `afterMs`; `pauseMs` is how long the whole carrier should be left alone. */
  | { readonly action: 'later'; readonly afterMs: number; readonly pauseMs: number }
  | { readonly action: 'reject' }
  /** The carrier refuses us, not the message: nothing more is sent on it until a person has looked. */
  | { readonly action: 'stop'; readonly afterMs: number };

export type OutcomeQuestion = {
  readonly status: number;
  readonly statusName: string;
  readonly category: Category;
  /** 1 for the first submit of this message. */
  readonly attempt: number;
  readonly overrides: Readonly<Record<string, CarrierErrorAction>>;
  readonly random?: Random;
};

const ok = 0x00;
const messageQueueFull = 0x14;
const throttled = 0x58;
/** Statuses that pass by themselves: system error, queue full, throttled, temporary application error. */
const passing: ReadonlySet<number> = new Set([0x08, messageQueueFull, throttled, 0x64]);
/** Statuses about our bind or our contract: invalid bind status, not bound, invalid password or system id. */
const aboutUs: ReadonlySet<number> = new Set([0x04, 0x0d, 0x0e, 0x0f]);

const waitMs = { otp: { base: 200, cap: 2_000 }, other: { base: 1_000, cap: 60_000 } } as const;
const throttlePauseMs = 250;
const stopRetryMs = 30_000;

export function decideOutcome(question: OutcomeQuestion): Outcome {
  const { status } = question;
  if (status === ok) return { action: 'submitted' };
  switch (actionFor(question)) {
    case 'later':
      return { action: 'later', afterMs: laterMs(question), pauseMs: status === throttled ? throttlePauseMs : 0 };
    case 'stop':
      return { action: 'stop', afterMs: stopRetryMs };
    case 'reject':
      return { action: 'reject' };
  }
}

function actionFor({ status, statusName, overrides }: OutcomeQuestion): CarrierErrorAction {
  const override = overrides[statusName] ?? overrides[String(status)] ?? overrides[`0x${status.toString(16)}`];
  if (override !== undefined) return override;
  if (passing.has(status)) return 'later';
  if (aboutUs.has(status)) return 'stop';
  return 'reject';
}

/** At least half of the exponential: jitter spreads the retries, but must not make them immediate. */
function laterMs({ category, attempt, random = systemRandom }: OutcomeQuestion): number {
  const { base, cap } = category === 'otp' ? waitMs.otp : waitMs.other;
  const fullMs = Math.min(cap, base * 2 ** Math.min(attempt - 1, 20));
  return Math.floor(fullMs / 2 + jitteredBackoffMs(0, fullMs / 2, fullMs / 2, random));
}
