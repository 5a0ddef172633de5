// The two copies of a hedged message: while one of them may be delivered, the failure of the other ends nothing; a
// delivery of either ends it; and what every reader of events keeps of them gives the same status.
import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import { ClientEvents } from '../../actors/webhook/fan-out/client-events.ts';
import { applyEvent, countedStatuses, emptyCounted } from '../../analytics/recorder/counts/counted-state.ts';
import { Names } from '../../analytics/store/names.ts';
import { copiesBits } from '../../model/copies.ts';
import { type DeliveryEvent, type EventKind, eventOfMessage } from '../../model/delivery-event.ts';
import { foldEvents } from '../../model/fold.ts';
import { isTerminal } from '../../model/status.ts';
import { limits } from '../../platform/limits.ts';
import { ManualClock } from '../support/manual-clock.ts';
import { messageWith } from '../support/messages.ts';

const message = messageWith({ segments: 1, category: 'otp' });
type Step = readonly [kind: EventKind, hop: number, error?: string];
const sent: Step = ['hedged', 0, 'to beta: no_response'];

/** Each event once: a repeat has the same id. */
function eventsOf(steps: readonly Step[]): DeliveryEvent[] {
  const events = steps.map(([kind, hop, error = null], at) => {
    const carrier = ['alpha', 'beta', 'gamma', 'delta'][hop] ?? 'alpha';
    const draft = { kind, error, attempt: 1, segment: 1, detail: String(hop), atMs: message.acceptedAtMs + at };
    return eventOfMessage({ ...message, hop, carrier }, draft);
  });
  return [...new Map(events.map((event) => [event.eventId, event])).values()];
}
const stateOf = (...steps: Step[]) => foldEvents(eventsOf(steps))!;
const statusOf = (...steps: Step[]) => stateOf(...steps).status;

describe('a hedged message', () => {
  test('goes on when one copy fails, whichever', () => {
    expect(statusOf(['submitted', 0], sent, ['rejected', 0])).toBe('submitted');
    expect(statusOf(sent, ['unknown', 0])).toBe('accepted');
    expect(statusOf(sent, ['rejected', 1])).toBe('accepted');
    expect(statusOf(sent, ['submitted', 1], ['undelivered', 1], ['submitted', 0])).toBe('submitted');
  });
  test('is delivered when either is, and stays so', () => {
    expect(statusOf(sent, ['rejected', 0], ['delivered', 1], ['undelivered', 0])).toBe('delivered');
    expect(statusOf(sent, ['delivered', 0], ['rejected', 1])).toBe('delivered');
    expect(stateOf(sent, ['submitted', 1], ['delivered', 1])).toMatchObject({ carrier: 'beta', error: null });
  });
  test('fails when both have', () => {
    expect(stateOf(sent, ['rejected', 0, 'ESME_RSUBMITFAIL'], ['undelivered', 1, 'receipt_undelivered'])).toMatchObject(
      {
        status: 'undelivered',
        error: 'receipt_undelivered',
        carrier: 'beta',
      },
    );
  });
  test('is unknown when one copy is unknown, until its receipt or refusal comes', () => {
    expect(statusOf(sent, ['unknown', 0], ['rejected', 1])).toBe('unknown');
    expect(statusOf(sent, ['rejected', 1], ['unknown', 0])).toBe('unknown');
    expect(statusOf(sent, ['unknown', 0], ['rejected', 1], ['delivered', 0])).toBe('delivered');
    expect(statusOf(sent, ['unknown', 0], ['rejected', 1], ['rejected', 0])).toBe('rejected');
  });
  test('whose second copy moved on has two copies still', () => {
    expect(statusOf(sent, ['rerouted', 1], ['rejected', 2])).toBe('accepted');
    expect(statusOf(sent, ['rerouted', 1], ['rejected', 2], ['undelivered', 0])).toBe('undelivered');
  });
  test('of the control group has one copy: its failure is the end', () => {
    expect(statusOf(['hedged', 0, 'control group: no_response'], ['rejected', 0])).toBe('rejected');
  });
});

describe('the cancelled copy of a delivered message', () => {
  const cancel: Step = ['canceled', 0, 'hedge_not_needed'];
  test('leaves it delivered, with and without a receipt DELETED', () => {
    const canceled = [['submitted', 0], sent, ['delivered', 1], cancel] as const;
    expect(stateOf(...canceled)).toMatchObject({ status: 'delivered', carrier: 'beta', error: null });
    expect(stateOf(...canceled, ['undelivered', 0, 'receipt_deleted'])).toMatchObject({ status: 'delivered' });
    expect(stateOf(...canceled).history.map(({ status }) => status)).toEqual(['submitted', 'delivered']);
  });
  test('is sent to no endpoint, also by a process that knows nothing of the copies', () => {
    const [canceled] = eventsOf([cancel]);
    expect(new ClientEvents(new ManualClock()).next(canceled!)).toBeNull();
    expect(new ClientEvents(new ManualClock()).next({ ...canceled!, carrier: '' })).not.toBeNull();
  });
});

const steps = fc.array(
  fc.tuple(
    fc.constantFrom<EventKind>(
      ...(['intent', 'submitted', 'delivered', 'undelivered', 'rejected', 'unknown'] as const),
    ),
    fc.integer({ min: 0, max: 3 }),
  ),
  { maxLength: 10 },
);

test('in any sequence of events the reports and the webhooks have the status of the fold', () => {
  fc.assert(
    fc.property(steps, steps, fc.integer({ min: 0, max: 2 }), (before, after, hop) => {
      const events = eventsOf([['accepted', 0], ...before, ['hedged', hop, 'to beta: no_response'], ...after]);
      const published = new ClientEvents(new ManualClock());
      const names = new Names();
      const counted = emptyCounted();
      let last: string = 'accepted';
      for (const [at, event] of events.entries()) {
        applyEvent(counted, event, names);
        last = published.next(event)?.kind ?? last;
        const folded = foldEvents(events.slice(0, at + 1))!;
        expect(countedStatuses[counted.status]).toBe(folded.status);
        expect(counted.copies & ~copiesBits).toBe(0);
        if (isTerminal(folded.status)) expect(last).toBe(folded.status);
        else expect(['accepted', 'submitted']).toContain(last);
      }
    }),
  );
});

test('after it was hedged it ends only with a delivery or when both copies have ended', () => {
  fc.assert(
    fc.property(steps, (after) => {
      const events = eventsOf([['accepted', 0], sent, ...after]);
      const ended = (isSecond: boolean) =>
        events.some(({ kind, hop }) => ['undelivered', 'rejected', 'unknown'].includes(kind) && hop > 0 === isSecond);
      const isDelivered = events.some(({ kind }) => kind === 'delivered');
      expect(isTerminal(foldEvents(events)!.status)).toBe(isDelivered || (ended(false) && ended(true)));
    }),
  );
});

test('every hop fits into what readers keep', () => {
  expect(limits.reroute.hopsMax).toBeLessThan(15);
});
