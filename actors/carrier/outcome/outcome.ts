// Maps the command_status of a submit_sm_resp to an outcome: a pure function over one table. A carrier's own meaning of
// a status, from heliograph.yaml, takes precedence. Any status but 0 is a clear refusal: only those may send a message
// to another carrier; a missing answer is handled elsewhere.
import type { CarrierErrorAction } from '../../../config/configuration.ts';
import type { Category } from '../../../model/message.ts';
import { jitteredBackoffMs, type Random, systemRandom } from '../../../platform/random.ts';
import { commandStatus, nameOfStatus } from '../../../model/command-status.ts';
import { type OutcomeRow, outcomeTable, unnamedStatus } from './outcome-table.ts';

export type Outcome =
  | { readonly action: 'submitted' }
  /** Try again after `afterMs`; `pauseMs`: how long the whole carrier pauses; `slower`: lower its rate. */
  | { readonly action: 'later'; readonly afterMs: number; readonly pauseMs: number; readonly slower: boolean }
  /** Another carrier of its plan, at once. */
  | { readonly action: 'next'; readonly pauseMs: number; readonly slower: boolean }
  | { readonly action: 'reject' }
  /** The carrier refuses us, not the message: nothing more is sent to it until an operator intervenes. */
  | { readonly action: 'stop'; readonly afterMs: number; readonly goesElsewhere: boolean };

export type OutcomeInput = {
  readonly status: number;
  readonly statusName: string;
  readonly category: Category;
  /** 1 for the first submit of this message. */
  readonly attempt: number;
  /** The carrier's own meanings, by the name of the status. */
  readonly overrides: Readonly<Record<string, CarrierErrorAction>>;
  /** The best alternative of its plan, when it may still move: one that is good, one that is avoided, none. */
  readonly alternative: 'good' | 'avoided' | 'none';
  readonly random?: Random;
};

const waitMs = { otp: { base: 200, cap: 2_000 }, other: { base: 1_000, cap: 60_000 } } as const;
const throttlePauseMs = 250;
const stopRetryMs = 30_000;

export function decideOutcome(question: OutcomeInput): Outcome {
  const { status, category, alternative } = question;
  if (status === commandStatus.ESME_ROK) return { action: 'submitted' };
  const action = actionFor(question);
  const isFull = status === commandStatus.ESME_RMSGQFUL;
  // These two statuses speak of load, whatever else heliograph.yaml asks for.
  const slower = action === 'throttle' || isFull || status === commandStatus.ESME_RTHROTTLED;
  const pauseMs = slower && !isFull ? throttlePauseMs : 0;
  // An OTP has no time to wait for a carrier's load or trouble.
  const isTemporary = action === 'throttle' || action === 'later';
  if (isTemporary && category === 'otp' && alternative === 'good') return { action: 'next', pauseMs, slower };
  switch (action) {
    case 'throttle':
    case 'later':
      return { action: 'later', afterMs: laterMs(question), pauseMs, slower };
    case 'stop':
      return { action: 'stop', afterMs: stopRetryMs, goesElsewhere: alternative === 'good' };
    case 'next':
      return alternative !== 'none' ? { action: 'next', pauseMs, slower } : { action: 'reject' };
    case 'reject':
      return { action: 'reject' };
  }
}

function actionFor({ status, statusName, overrides }: Pick<OutcomeInput, 'status' | 'statusName' | 'overrides'>) {
  return overrides[statusName] ?? (rowByStatus.get(status) ?? unnamedStatus).action;
}

const rowByStatus = new Map<number, OutcomeRow>(
  Object.entries(outcomeTable).map(([name, row]) => [commandStatus[name as keyof typeof commandStatus], row]),
);

/** Whether an answer speaks against the carrier (its load, its state) and not against the message. */
export function isCarriersDoing(status: number, overrides: OutcomeInput['overrides']): boolean {
  if (status === commandStatus.ESME_ROK) return false;
  const action = actionFor({ status, statusName: nameOfStatus(status), overrides });
  return action === 'later' || action === 'throttle' || action === 'stop';
}

/** At least half of the exponential delay: jitter spreads the retries without making them immediate. */
function laterMs({ category, attempt, random = systemRandom }: OutcomeInput): number {
  const { base, cap } = category === 'otp' ? waitMs.otp : waitMs.other;
  const fullMs = Math.min(cap, base * 2 ** Math.min(attempt - 1, 20));
  return Math.floor(fullMs / 2 + jitteredBackoffMs(0, fullMs / 2, fullMs / 2, random));
}
