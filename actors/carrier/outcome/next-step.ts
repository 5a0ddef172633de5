// What happens next to a message one of whose segments was refused: a value, from what the refusal means and from how the
// message stands. Pure. What settlement.ts makes of it is an effect, which carry-out.ts carries out.
import { assert } from '../../../platform/assert.ts';
import { limits } from '../../../platform/limits.ts';
import type { Refusal } from '../in-flight/facts.ts';
import type { InFlightMessage } from '../in-flight/in-flight-message.ts';
import type { Outcome } from './outcome.ts';

/** Into LATER, where waiting costs nothing. `refused`: the segment that was refused; null when none was submitted. */
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
  /** Another segment of it goes again already, and this one with it. */
  | { readonly do: 'resend' }
  /** To the next carrier, as soon as every segment that is out was answered. */
  | { readonly do: 'leave'; readonly refusal: Refusal }
  | Defer
  | Retry
  /** Another node may have its record: its intent is closed, and only a redelivery brings it back. */
  | { readonly do: 'awaitRedelivery' };

/** After this many tries in memory a message waits in LATER. */
export const triesInMemoryMax = 8;
/** Longer than this and it waits in LATER at once. */
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
  // What the carrier has of a message must not be forgotten: with a part there, it waits here.
  if (message.isUntouched && !isShort)
    return { do: 'defer', why: refusal.statusName, afterMs, refused: refusal.segment };
  return { do: 'retry', afterMs: Math.min(afterMs, limits.carrier.restMsMax) };
}

/** What is to be done with a message: decided by settlement.ts, carried out by carry-out.ts. */
export type Effect =
  /** Nothing before something else of it happens. */
  | { readonly do: 'nothing' }
  /** Its outcome is decided. */
  | { readonly do: 'settle' }
  /** Its ack, when nothing of it is on its way any more. */
  | { readonly do: 'finish' }
  /** Into its lane at once. */
  | { readonly do: 'queue' }
  | Retry
  | Defer
  /** To another carrier. `mayComeBack`: it was not the message that was refused. */
  | { readonly do: 'reroute'; readonly to: string; readonly why: string; readonly mayComeBack: boolean };

export const nothing: Effect = { do: 'nothing' };
export const settle: Effect = { do: 'settle' };
export const finish: Effect = { do: 'finish' };
export const queue: Effect = { do: 'queue' };
