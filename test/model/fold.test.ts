// The fold: in any order and with any repeats, the events of a message give one state by the contract's rules.
import fc from 'fast-check';
import { expect, test } from 'vitest';
import {
  type DeliveryEvent,
  type EventDraft,
  acceptedEvent,
  eventOfMessage,
  expandEvent,
} from '../../model/delivery-event.ts';
import { foldEvents } from '../../model/fold.ts';
import { isTerminal } from '../../model/status.ts';
import { messageWith } from '../support/messages.ts';

const message = messageWith({ segments: 1 });
const long = messageWith({ segments: 3 });
const at = message.acceptedAtMs;

function events(of: typeof message, ...drafts: Partial<EventDraft>[]): DeliveryEvent[] {
  return drafts.map((each, index) =>
    eventOfMessage(of, { kind: 'submitted', atMs: at + index, attempt: 1, segment: 1, ...each }),
  );
}
const fold = (list: Iterable<DeliveryEvent>) => {
  const state = foldEvents(list);
  if (state === null) throw new Error('no state');
  return state;
};
const statusesOf = (list: Iterable<DeliveryEvent>) => fold(list).history.map((each) => each.status);

test('no events give no message', () => {
  expect(foldEvents([])).toBeNull();
});

test('accepted, submitted, delivered: the whole life with its times', () => {
  const [submitted, delivered] = events(message, { kind: 'submitted' }, { kind: 'delivered' });
  const state = fold([acceptedEvent(message), submitted!, delivered!]);
  expect(state).toMatchObject({
    status: 'delivered',
    acceptedAtMs: at,
    submittedAtMs: at,
    deliveredAtMs: at + 1,
    error: null,
    carrier: 'alpha',
  });
  expect(state.history.map((each) => each.status)).toEqual(['accepted', 'submitted', 'delivered']);
});

test('accepted published late still begins the history', () => {
  const list = events(message, { kind: 'submitted' }, { kind: 'delivered' });
  expect(statusesOf([...list, acceptedEvent(message)])).toEqual(['accepted', 'submitted', 'delivered']);
  expect(fold([...list, acceptedEvent(message)]).status).toBe('delivered');
});

test('accepted is published by the ingress and by the actor with one identity, also after a reroute', () => {
  const rerouted = { ...message, hop: 1, carrier: 'beta' };
  expect(acceptedEvent(rerouted).eventId).toBe(acceptedEvent(message).eventId);
  const intent = eventOfMessage(message, { kind: 'intent', atMs: at, attempt: 1 });
  expect(expandEvent(intent).map((each) => each.kind)).toEqual(['accepted']);
  expect(statusesOf([acceptedEvent(message), ...expandEvent(intent)])).toEqual(['accepted']);
});

test('every kind that can be the first event of a message implies its acceptance too', () => {
  for (const kind of [
    'expired',
    'rejected',
    'unknown',
    'failed',
    'blocked',
    'deferred',
    'rerouted',
    'resent',
  ] as const) {
    const event = eventOfMessage(message, { kind, atMs: at });
    expect(expandEvent(event).map((each) => each.kind)).toEqual(['accepted', kind]);
  }
});

test('a scheduled message becomes accepted when it is due', () => {
  const scheduled = eventOfMessage(message, { kind: 'scheduled', atMs: at - 5 });
  expect(fold([scheduled]).status).toBe('scheduled');
  const state = fold([scheduled, acceptedEvent(message)]);
  expect(state.status).toBe('accepted');
  expect(state.history.map((each) => each.status)).toEqual(['scheduled', 'accepted']);
});

test('the first terminal status stays', () => {
  const terminal = ['delivered', 'undelivered', 'expired', 'rejected', 'failed', 'blocked', 'canceled'] as const;
  for (const first of terminal) {
    for (const second of [...terminal, 'unknown' as const]) {
      expect(fold(events(message, { kind: first }, { kind: second })).status).toBe(first);
    }
  }
});

test('unknown is settled by a late receipt, once', () => {
  const state = fold(events(message, { kind: 'unknown', segment: 0 }, { kind: 'delivered' }, { kind: 'undelivered' }));
  expect(state.status).toBe('delivered');
  expect(state.deliveredAtMs).toBe(at + 1);
  expect(fold(events(message, { kind: 'unknown' }, { kind: 'undelivered' })).status).toBe('undelivered');
  expect(fold(events(message, { kind: 'unknown' }, { kind: 'submitted' })).status).toBe('unknown');
});

test('a long message is submitted and delivered when all its segments are', () => {
  const submitted = events(long, { segment: 1 }, { segment: 2 }, { segment: 3 });
  const delivered = events(long, ...[3, 1, 2].map((segment) => ({ kind: 'delivered' as const, segment })));
  expect(fold(submitted.slice(0, 2)).status).toBe('accepted');
  expect(fold(submitted).status).toBe('submitted');
  expect(fold([...submitted, ...delivered.slice(0, 2)]).status).toBe('submitted');
  expect(fold([...submitted, ...delivered]).status).toBe('delivered');
});

test('the first failed segment of a long message decides', () => {
  const list = events(
    long,
    { segment: 1 },
    { segment: 2 },
    { segment: 3 },
    { kind: 'delivered', segment: 1 },
    { kind: 'undelivered', segment: 2, error: 'receipt_undelivered:027' },
    { kind: 'delivered', segment: 2 },
    { kind: 'delivered', segment: 3 },
  );
  expect(fold(list)).toMatchObject({ status: 'undelivered', error: 'receipt_undelivered:027' });
});

test('ten segments, the most there can be, fit the bits', () => {
  const ten = messageWith({ segments: 10 });
  const list = Array.from({ length: 10 }, (_, index) => events(ten, { kind: 'delivered', segment: index + 1 })[0]!);
  expect(fold(list.slice(0, 9)).status).toBe('accepted');
  expect(fold(list).status).toBe('delivered');
});

test('a resent message is marked once, stays open, and ends as the first of its copies', () => {
  const resent = [1, 2].map((segment) => ({ kind: 'resent', segment, error: 'resent_by_policy:no_response' }) as const);
  const waiting = fold([acceptedEvent(long), ...events(long, ...resent)]);
  expect(waiting).toMatchObject({ status: 'accepted', resent: true });
  expect(waiting.history.map((each) => [each.status, each.error])).toEqual([
    ['accepted', null],
    ['unknown', 'resent_by_policy:no_response'],
  ]);
  const [first] = resent;
  const ends = [
    { kind: 'submitted', segment: 1, attempt: 2 },
    { kind: 'undelivered', segment: 1, attempt: 1 },
    { kind: 'delivered', segment: 1, attempt: 2 },
  ] as const;
  const state = fold([acceptedEvent(message), ...events(message, first!, ...ends)]);
  expect(state.status).toBe('undelivered');
  expect(state.history.map((each) => each.status)).toEqual(['accepted', 'unknown', 'submitted', 'undelivered']);
});

test('events of two messages in one fold are a bug', () => {
  expect(() => foldEvents([...events(message, {}), ...events(long, {})])).toThrow();
});

const kinds = [
  'accepted',
  'intent',
  'submitted',
  'delivered',
  'undelivered',
  'expired',
  'rejected',
  'unknown',
  'failed',
  'deferred',
  'resent',
] as const;
const anyEvents = fc.array(
  fc.record({
    kind: fc.constantFrom(...kinds),
    segment: fc.integer({ min: 0, max: 3 }),
    attempt: fc.integer({ min: 0, max: 2 }),
  }),
  { maxLength: 12 },
);

test('any event published again at any later place changes nothing', () => {
  fc.assert(
    fc.property(anyEvents, fc.array(fc.tuple(fc.nat(), fc.nat()), { maxLength: 8 }), (drafts, copies) => {
      const list = events(long, ...drafts);
      const repeated = [...list];
      for (const [which, where] of copies) {
        if (list.length === 0) break;
        const event = list[which % list.length]!;
        const from = repeated.indexOf(event);
        repeated.splice(from + 1 + (where % (repeated.length - from)), 0, event);
      }
      expect(foldEvents(repeated)).toEqual(foldEvents(list));
    }),
  );
});

test('once terminal, a status only changes from unknown, and history never holds two terminal statuses but that', () => {
  fc.assert(
    fc.property(anyEvents, (drafts) => {
      let status = 'accepted';
      const list = events(long, ...drafts);
      for (let count = 1; count <= list.length; count += 1) {
        const next = fold(list.slice(0, count));
        if (isTerminal(status as never) && next.status !== status) expect(status).toBe('unknown');
        status = next.status;
        const ends = next.history.filter((each) => isTerminal(each.status) && each.status !== 'unknown');
        expect(ends.length).toBeLessThanOrEqual(1);
        expect(next.history.filter((each) => each.status === 'accepted').length).toBeLessThanOrEqual(1);
      }
    }),
  );
});

test('the positions of acceptances and intents among the events do not matter', () => {
  fc.assert(
    fc.property(anyEvents, fc.nat(), (drafts, where) => {
      const list = events(long, ...drafts.filter((each) => each.kind !== 'accepted'));
      const place = where % (list.length + 1);
      const early = fold([acceptedEvent(long), ...list]);
      const late = fold([...list.slice(0, place), acceptedEvent(long), ...list.slice(place)]);
      expect(late.status).toBe(early.status);
      expect(late.history.map((each) => each.status)).toEqual(early.history.map((each) => each.status));
    }),
  );
});
