// Which events clients get of a message does not depend on what the process remembers of it: with what it forgot learned
// again from the history, they are the same ones. Of several segments, of two copies of a one-time password, and of one
// segment that carriers report twice.
import fc from 'fast-check';
import { expect, test } from 'vitest';
import { ClientEvents } from '../../../actors/webhook/fan-out/client-events.ts';
import { type DeliveryEvent, type EventKind, eventOfMessage } from '../../../model/delivery-event.ts';
import { foldEvents } from '../../../model/fold.ts';
import { isTerminal } from '../../../model/status.ts';
import { limits } from '../../../platform/limits.ts';
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

const otp = messageWith({ segments: 1, category: 'otp' });
const ofCopy = (kind: EventKind, hop: number, at: number, attempt = 1): DeliveryEvent => {
  const error = kind === 'hedged' ? 'to beta: no_receipt' : null;
  const carrier = hop === 0 ? 'alpha' : 'beta';
  const draft = { kind, error, segment: 1, attempt, atMs: otp.acceptedAtMs + at };
  return eventOfMessage({ ...otp, hop, carrier }, draft);
};

/** A second copy is sent of it, and each copy is submitted and ends, or does not. */
const copies = fc
  .uniqueArray(
    fc.tuple(
      fc.constantFrom<EventKind>('intent', 'submitted', 'delivered', 'undelivered', 'expired', 'unknown', 'rejected'),
      fc.integer({ min: 0, max: 1 }),
    ),
    { maxLength: 12, selector: ([kind, hop]) => `${kind} ${hop}` },
  )
  .map((steps) => [
    ...[ofCopy('accepted', 0, 0), ofCopy('intent', 0, 1), ofCopy('hedged', 0, 2)],
    ...steps.map(([kind, hop], at) => ofCopy(kind, hop, at + 3, 2)),
  ]);

const short = messageWith({ segments: 1, category: 'transactional' });
const ofTry = (kind: EventKind, attempt: number, at: number): DeliveryEvent => {
  // A second try of such a message is a resend by policy.
  const progress = attempt === 1 ? 0 : 1;
  const segment = kind === 'intent' ? 0 : 1;
  return eventOfMessage(short, { kind, segment, attempt, progress, atMs: short.acceptedAtMs + at });
};

/** It is sent once or twice, and carriers report any ends of either, in any order. */
const tries = fc
  .uniqueArray(
    fc.tuple(
      fc.constantFrom<EventKind>('submitted', 'delivered', 'undelivered', 'expired', 'unknown', 'rejected', 'resent'),
      fc.integer({ min: 1, max: 2 }),
    ),
    { maxLength: 12, selector: ([kind, attempt]) => `${kind} ${attempt}` },
  )
  .map((steps) => [ofTry('intent', 1, 0), ...steps.map(([kind, attempt], at) => ofTry(kind, attempt, at + 1))]);

const idsOf = (all: readonly (DeliveryEvent | null)[]) => all.flatMap((event) => event?.eventId ?? []);

test.each([
  ['of a message of several segments', events],
  ['of a one-time password with two copies', copies],
  ['of a message of one segment', tries],
])('whatever is forgotten %s, and whenever: the same events, once each', (_, histories) => {
  fc.assert(
    fc.property(histories, fc.uniqueArray(fc.nat({ max: 12 })), (all, forgottenAt) => {
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

test('a message that ended before a carrier had any of it needs no history; every other end does', () => {
  const kinds = [
    'submitted',
    'delivered',
    'undelivered',
    'rejected',
    'expired',
    'failed',
    'blocked',
    'unknown',
  ] as const;
  const known = (make: (kind: EventKind) => DeliveryEvent) =>
    kinds.filter((kind) => new ClientEvents(new ManualClock()).knows(make(kind)));
  const unsent = (of: typeof message) => (kind: EventKind) => eventOfMessage(of, { kind, attempt: 16, atMs: 1 });
  expect(known(unsent(message))).toEqual(['expired', 'failed', 'blocked']);
  expect(known(unsent(short))).toEqual(['expired', 'failed', 'blocked']);
  // It may be the end of one of two copies.
  expect(known(unsent(otp))).toEqual([]);
  // Of a receipt: of all segments in one PDU, and of one.
  const receipt = (segment: number) => (kind: EventKind) =>
    eventOfMessage(message, { kind, segment, carrierMessageId: 'c1', attempt: 1, atMs: 1 });
  expect(known(receipt(0))).toEqual([]);
  expect(known(receipt(1))).toEqual([]);
});

test('an end that comes after as many other messages as are remembered is looked up, and the first end stays', () => {
  const clientEvents = new ClientEvents(new ManualClock());
  const before = [ofTry('intent', 1, 0), ofTry('submitted', 1, 1), ofTry('undelivered', 1, 2)];
  for (const event of before) clientEvents.next(event);
  const late = ofTry('delivered', 2, 3);
  expect(clientEvents.knows(late)).toBe(true);
  const first = ofTry('intent', 1, 0);
  for (let count = 0; count <= 2 * limits.delivery.rememberedMax; count += 1)
    clientEvents.next({ ...first, messageId: `sms_other_${count}` });
  expect(clientEvents.knows(late)).toBe(false);
  clientEvents.learn(late.messageId, before);
  expect(clientEvents.next(late)).toBeNull();
});

test('of a message whose intent is remembered nothing is asked; what only was accepted pushes nothing out', () => {
  const clientEvents = new ClientEvents(new ManualClock());
  clientEvents.next(ofTry('intent', 1, 0));
  const accepted = ofTry('accepted', 1, 0);
  for (let count = 0; count <= 2 * limits.delivery.rememberedMax; count += 1)
    clientEvents.next({ ...accepted, messageId: `sms_other_${count}` });
  for (const kind of ['submitted', 'delivered', 'undelivered', 'unknown'] as const)
    expect(clientEvents.knows(ofTry(kind, 1, 1))).toBe(true);
  // A later try of a message whose beginning is not known: something was sent before.
  const forgetful = new ClientEvents(new ManualClock());
  forgetful.next(ofTry('intent', 2, 0));
  expect(forgetful.knows(ofTry('submitted', 2, 1))).toBe(false);
});

test('of a one-time password whose beginning is known nothing is asked; a later try or hop is no beginning', () => {
  const begun = (...before: DeliveryEvent[]) => {
    const clientEvents = new ClientEvents(new ManualClock());
    for (const event of before) clientEvents.next(event);
    return (['submitted', 'delivered', 'expired', 'blocked'] as const).map((kind) =>
      clientEvents.knows(ofCopy(kind, 0, 9)),
    );
  };
  const [all, none] = [true, false].map((each) => [each, each, each, each]);
  expect(begun(ofCopy('accepted', 0, 0))).toEqual(all);
  expect(begun(ofCopy('intent', 0, 1))).toEqual(all);
  expect(begun(ofCopy('intent', 0, 1, 2))).toEqual(none);
  expect(begun(ofCopy('intent', 1, 1))).toEqual(none);
  expect(begun(ofCopy('hedged', 0, 1))).toEqual(none);
});

test.each(['received', 'opted_out', 'canceled'] as const)(
  '%s is shown once, also when it is published again',
  (kind) => {
    const clientEvents = new ClientEvents(new ManualClock());
    const event = { ...eventOf(kind, 0, 1), carrier: '' };
    expect([clientEvents.next(event)?.kind, clientEvents.next(event)]).toEqual([kind, null]);
  },
);
