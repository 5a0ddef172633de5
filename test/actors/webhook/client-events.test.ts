// Which events of a message of several segments clients get does not depend on what the process remembers of it: with
// what it forgot learned again from the history, they are the same ones.
import fc from 'fast-check';
import { expect, test } from 'vitest';
import { ClientEvents } from '../../../actors/webhook/fan-out/client-events.ts';
import { type DeliveryEvent, type EventKind, eventOfMessage } from '../../../model/delivery-event.ts';
import { foldEvents } from '../../../model/fold.ts';
import { isTerminal } from '../../../model/status.ts';
import { ManualClock } from '../../support/manual-clock.ts';
import { messageWith } from '../../support/messages.ts';

const message = messageWith({ segments: 3 });
const eventOf = (kind: EventKind, segment: number, at: number): DeliveryEvent =>
  eventOfMessage(message, { kind, segment, attempt: 1, atMs: message.acceptedAtMs + at });

/** Of each segment that is submitted, unknown or refused, and what its receipt says. In any order, each event once. */
const events = fc
  .uniqueArray(
    fc.tuple(
      fc.constantFrom<EventKind>('submitted', 'delivered', 'delivered', 'undelivered', 'unknown', 'rejected'),
      fc.integer({ min: 1, max: 3 }),
    ),
    { maxLength: 12, selector: ([kind, segment]) => `${kind} ${segment}` },
  )
  .map((steps) => [eventOf('intent', 0, 0), ...steps.map(([kind, segment], at) => eventOf(kind, segment, at + 1))]);

const idsOf = (all: readonly (DeliveryEvent | null)[]) => all.flatMap((event) => event?.eventId ?? []);

test('whatever is forgotten, and whenever: the same events, once each', () => {
  fc.assert(
    fc.property(events, fc.uniqueArray(fc.nat({ max: 12 })), (all, forgottenAt) => {
      const remembering = new ClientEvents(new ManualClock());
      let forgetful = new ClientEvents(new ManualClock());
      const [expected, shown]: [(DeliveryEvent | null)[], (DeliveryEvent | null)[]] = [[], []];
      for (const [at, event] of all.entries()) {
        if (forgottenAt.includes(at)) forgetful = new ClientEvents(new ManualClock());
        expect(remembering.knows(event)).toBe(true);
        expected.push(remembering.next(event));
        // The event store has no intents.
        const recorded = all.slice(0, at).filter(({ kind }) => kind !== 'intent');
        if (!forgetful.knows(event)) forgetful.learn(event.messageId, recorded);
        shown.push(forgetful.next(event));
      }
      expect(idsOf(shown)).toEqual(idsOf(expected));
      const last = expected.findLast((event) => event !== null)?.kind ?? 'accepted';
      const { status } = foldEvents(all)!;
      if (isTerminal(status)) expect(last).toBe(status);
      else expect(['accepted', 'submitted']).toContain(last);
    }),
  );
});

test('an event about the whole message needs no history, except that nobody knows what became of it', () => {
  const kinds = ['submitted', 'delivered', 'undelivered', 'expired', 'failed', 'blocked', 'unknown'] as const;
  const known = kinds.filter((kind) => new ClientEvents(new ManualClock()).knows(eventOf(kind, 0, 1)));
  expect(known).toEqual(kinds.filter((kind) => kind !== 'unknown'));
});

test.each(['received', 'opted_out', 'canceled'] as const)(
  '%s is shown once, also when it is published again',
  (kind) => {
    const clientEvents = new ClientEvents(new ManualClock());
    const event = { ...eventOf(kind, 0, 1), carrier: '' };
    expect([clientEvents.next(event)?.kind, clientEvents.next(event)]).toEqual([kind, null]);
  },
);
