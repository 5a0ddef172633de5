// Decides what happens next to a message after a refused segment, from the outcome and the message's state. Pure:
// settlement.ts turns the step into an effect, which carry-out.ts carries out.
import { assert } from '../../../platform/assert.ts';
import { limits } from '../../../platform/limits.ts';
import type { Refusal } from '../in-flight/facts.ts';
import type { InFlightMessage } from '../in-flight/in-flight-message.ts';
import type { Outcome } from './outcome.ts';

/** Into LATER, without using memory. `refused`: the segment that was refused; null when none was submitted. */
type Defer = {
  readonly do: 'defer';
  readonly why: string;
  readonly afterMs: number;
  readonly refused: number | null;
};

/** Back to its lane after a wait in memory. */
type Retry = { readonly do: 'retry'; readonly afterMs: number };

export type NextStep =
  /** It ends here, rejected. */
  | { readonly do: 'reject' }
  /** Another segment has ended it: only its ack is left. */
  | { readonly do: 'finish' }
  /** Another segment of it is sent again already, and this one with it. */
  | { readonly do: 'resend' }
  /** To the next carrier, when every outstanding segment is answered. */
  | { readonly do: 'leave'; readonly refusal: Refusal }
  | Defer
  | Retry
  /** Another node may have its record: its intent is closed, and only a redelivery brings it back. */
  | { readonly do: 'awaitRedelivery' };

/** After this many tries in memory a message waits in LATER. */
export const triesInMemoryMax = 8;
/** A longer wait is made in LATER at once. */
export const waitInMemoryMsMax = 1_000;

export function nextStep(
  message: Pick<InFlightMessage, 'state' | 'isUntouched' | 'leaving' | 'tries'>,
  refusal: Refusal,
  outcome: Outcome,
): NextStep {
  const { state, leaving } = message;
  assert(outcome.action !== 'submitted', 'a refusal was taken for a submit');
  if (outcome.action === 'reject') return { do: 'reject' };
  if (state === 'settling') return { do: 'finish' };
  if (state === 'resending') return { do: 'resend' };
  if (state === 'lapsed') return { do: 'awaitRedelivery' };
  if (outcome.action === 'next') return { do: 'leave', refusal };
  if (outcome.action === 'stop' && outcome.goesElsewhere)
    return { do: 'leave', refusal: { ...refusal, mayComeBack: true } };
  if (outcome.action === 'later' && leaving !== null) return { do: 'leave', refusal: leaving };
  const { afterMs } = outcome;
  const isShort = message.tries < triesInMemoryMax && afterMs <= waitInMemoryMsMax;
  // LATER would lose which segments were accepted: such a message waits here.
  if (message.isUntouched && !isShort)
    return { do: 'defer', why: refusal.statusName, afterMs, refused: refusal.segment };
  return { do: 'retry', afterMs: Math.min(afterMs, limits.carrier.restMsMax) };
}

/** What to do with a message: settlement.ts decides, carry-out.ts carries it out. */
export type Effect =
  /** Waits for another event of the message. */
  | { readonly do: 'nothing' }
  /** Its outcome is decided. */
  | { readonly do: 'settle' }
  /** Its ack, when nothing of it is pending any more. */
  | { readonly do: 'finish' }
  /** Into its lane at once. */
  | { readonly do: 'queue' }
  | Retry
  | Defer
  /** To another carrier. `mayComeBack`: the carrier was unavailable and did not refuse the message. */
  | { readonly do: 'reroute'; readonly to: string; readonly why: string; readonly mayComeBack: boolean };

export const nothing: Effect = { do: 'nothing' };
export const settle: Effect = { do: 'settle' };
export const finish: Effect = { do: 'finish' };
export const queue: Effect = { do: 'queue' };
