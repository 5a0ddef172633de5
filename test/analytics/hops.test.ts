// What became of one message at each carrier: a hedged one has a hop for each copy, with its own times.
import { expect, test } from 'vitest';
import { hopsOf } from '../../analytics/queries/hops.ts';
import { type EventKind, acceptedEvent, eventOfMessage } from '../../model/delivery-event.ts';
import { messageWith } from '../support/messages.ts';

const message = messageWith({ category: 'otp', segments: 1 });
const event = (kind: EventKind, hop: number, afterMs: number, error: string | null = null) =>
  eventOfMessage(
    { ...message, hop, carrier: hop === 0 ? 'alpha' : 'beta' },
    { kind, error, attempt: 1, segment: 1, atMs: message.acceptedAtMs + afterMs },
  );

test('each copy of a hedged message is a hop: where it is, how it ended and how long it took', () => {
  const events = [
    acceptedEvent(message),
    event('intent', 0, 2),
    event('hedged', 0, 300, 'to beta: no_response'),
    event('intent', 1, 305),
    event('submitted', 1, 310),
    event('delivered', 1, 560),
    event('unknown', 0, 5_000, 'no_response'),
  ];
  expect(hopsOf(events)).toEqual([
    {
      ...{ carrier: 'alpha', hop: 0, status: 'unknown', hedgedBy: null },
      ...{ acceptedToSubmittedMs: null, submittedToDeliveredMs: null },
    },
    {
      ...{ carrier: 'beta', hop: 1, status: 'delivered', hedgedBy: 'response' },
      ...{ acceptedToSubmittedMs: 310, submittedToDeliveredMs: 250 },
    },
  ]);
  expect(hopsOf(events.slice(0, 3))).toMatchObject([{ carrier: 'alpha', status: 'accepted' }]);
});

const bySecond = [
  acceptedEvent(message),
  event('submitted', 0, 10),
  event('hedged', 0, 500, 'to beta: no_receipt'),
  event('submitted', 1, 520),
  event('delivered', 1, 700),
];
const first = (...events: Parameters<typeof hopsOf>[0]) => hopsOf([...bySecond, ...events])[0];

test('the rule is that of the copy, also where that has moved on; of the control group none', () => {
  expect(hopsOf(bySecond).map(({ hedgedBy }) => hedgedBy)).toEqual([null, 'receipt']);
  const moved = [...bySecond.slice(0, 3), event('rerouted', 1, 510), event('submitted', 2, 520)];
  expect(hopsOf(moved).map(({ hedgedBy }) => hedgedBy)).toEqual([null, 'receipt', 'receipt']);
  const noted = [
    ...bySecond.slice(0, 2),
    event('hedged', 0, 500, 'control group: no_receipt'),
    event('submitted', 1, 9),
  ];
  expect(hopsOf(noted).map(({ hedgedBy }) => hedgedBy)).toEqual([null, null]);
});

test('a copy that was cancelled is canceled, whatever its receipt says then, unless that it was delivered', () => {
  expect(first()?.status).toBe('submitted');
  const canceled = event('canceled', 0, 800, 'hedge_not_needed');
  expect(first(canceled)?.status).toBe('canceled');
  expect(first(canceled, event('undelivered', 0, 810, 'receipt_deleted'))?.status).toBe('canceled');
  expect(first(canceled, event('delivered', 0, 810))?.status).toBe('delivered');
});
