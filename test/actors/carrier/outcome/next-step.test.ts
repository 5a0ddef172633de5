// The step after a refusal, for every outcome in every state in which a refusal can come: both sides of each limit, and
// that no step leads to a state that is not allowed.
import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import type { Refusal } from '../../../../actors/carrier/in-flight/facts.ts';
import { type InFlightState, edges } from '../../../../actors/carrier/in-flight/states.ts';
import {
  type NextStep,
  nextStep,
  triesInMemoryMax,
  waitInMemoryMsMax,
} from '../../../../actors/carrier/outcome/next-step.ts';
import type { Outcome } from '../../../../actors/carrier/outcome/outcome.ts';
import { limits } from '../../../../platform/limits.ts';

const refusal: Refusal = { status: 0x58, statusName: 'ESME_RTHROTTLED', segment: 1, attempt: 1, mayComeBack: false };
const earlier: Refusal = { ...refusal, segment: 2 };
const later = (afterMs: number): Outcome => ({ action: 'later', afterMs, pauseMs: 0, slower: false });
const next: Outcome = { action: 'next', pauseMs: 0, slower: false };
const stop = (goesElsewhere: boolean): Outcome => ({ action: 'stop', afterMs: 30_000, goesElsewhere });
type Message = Parameters<typeof nextStep>[0];
const message = (changes: Partial<Message> = {}): Message => {
  return { state: 'sending', isUntouched: true, leaving: null, tries: 1, ...changes };
};
const deferred = (afterMs: number) => ({ do: 'defer', why: 'ESME_RTHROTTLED', afterMs, refused: 1 });
const stepOf = (changes: Partial<Message>, outcome: Outcome) => nextStep(message(changes), refusal, outcome);

describe('refused temporarily', () => {
  test('waits in memory up to a time and a number of tries, and in LATER beyond', () => {
    expect(stepOf({}, later(waitInMemoryMsMax))).toEqual({ do: 'retry', afterMs: waitInMemoryMsMax });
    expect(stepOf({}, later(waitInMemoryMsMax + 1))).toEqual(deferred(waitInMemoryMsMax + 1));
    expect(stepOf({ tries: triesInMemoryMax - 1 }, later(1))).toEqual({ do: 'retry', afterMs: 1 });
    expect(stepOf({ tries: triesInMemoryMax }, later(1))).toEqual(deferred(1));
  });
  test('with a segment out or accepted waits in memory, however long, up to the longest wait there', () => {
    const { restMsMax } = limits.carrier;
    expect(stepOf({ isUntouched: false }, later(restMsMax))).toEqual({ do: 'retry', afterMs: restMsMax });
    expect(stepOf({ isUntouched: false }, later(restMsMax + 1))).toEqual({ do: 'retry', afterMs: restMsMax });
  });
  test('while it is leaving for another carrier because of another segment: leaves with that one', () => {
    expect(stepOf({ leaving: earlier }, later(1))).toEqual({ do: 'leave', refusal: earlier });
  });
});

test('refused here goes to the next carrier, and may return when the carrier was only unavailable', () => {
  expect(stepOf({}, next)).toEqual({ do: 'leave', refusal });
  expect(stepOf({}, stop(true))).toEqual({ do: 'leave', refusal: { ...refusal, mayComeBack: true } });
  expect(stepOf({}, stop(false))).toEqual(deferred(30_000));
});

test('a submit is no refusal', () => {
  expect(() => stepOf({}, { action: 'submitted' })).toThrow('a refusal was taken for a submit');
});

describe('in every state in which a refusal can come', () => {
  const outcomes: readonly Outcome[] = [later(1), later(5_000), next, stop(true), stop(false), { action: 'reject' }];
  /** The next state of each step; null: unchanged. */
  const leadsTo: Record<NextStep['do'], InFlightState | null> = {
    reject: 'settling',
    finish: null,
    resend: null,
    leave: 'waiting',
    defer: 'deferring',
    retry: 'waiting',
    awaitRedelivery: null,
  };
  test('the step is one that the state allows', () => {
    fc.assert(
      fc.property(
        fc.constantFrom<InFlightState>('sending', 'waiting', 'resending', 'lapsed', 'settling'),
        fc.constantFrom(...outcomes),
        fc.boolean(),
        fc.nat({ max: 15 }),
        fc.constantFrom(null, earlier),
        (state, outcome, isUntouched, tries, leaving) => {
          const step = nextStep({ state, isUntouched, tries, leaving }, refusal, outcome);
          const to = leadsTo[step.do];
          if (to !== null && to !== state) expect(edges[state]).toContain(to);
          if (step.do === 'defer') expect(isUntouched).toBe(true);
        },
      ),
    );
  });
  test.each([
    ['settling', 'finish'],
    ['resending', 'resend'],
    ['lapsed', 'awaitRedelivery'],
  ] as const)('%s: nothing but a rejection changes it', (state, step) => {
    for (const outcome of outcomes) {
      expect(stepOf({ state }, outcome).do).toBe(outcome.action === 'reject' ? 'reject' : step);
    }
  });
});
