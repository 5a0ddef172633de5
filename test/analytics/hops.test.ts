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
    { carrier: 'alpha', hop: 0, status: 'unknown', acceptedToSubmittedMs: null, submittedToDeliveredMs: null },
    { carrier: 'beta', hop: 1, status: 'delivered', acceptedToSubmittedMs: 310, submittedToDeliveredMs: 250 },
  ]);
  expect(hopsOf(events.slice(0, 3))).toMatchObject([{ carrier: 'alpha', status: 'accepted' }]);
});
