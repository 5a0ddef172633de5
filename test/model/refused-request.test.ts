// A refused request: an event that is no message. It is published once, implies no other event, and folds to blocked.
import { expect, test } from 'vitest';
import { decodeEvents, encodeEvents } from '../../model/records/event-record.ts';
import { eventSubject } from '../../cluster/bus/subjects.ts';
import { eventKinds, eventOfMessage, expandEvent } from '../../model/delivery-event.ts';
import { foldEvents } from '../../model/fold.ts';
import { messageWith } from '../support/messages.ts';

const context = messageWith({ carrier: '', segments: 0, recipient: '+88017******78' });
const refused = eventOfMessage(context, { kind: 'refused', atMs: context.acceptedAtMs, error: 'content_blocked' });

test('it implies no other event: counts of accepted messages exclude it', () => {
  expect(expandEvent(refused)).toEqual([refused]);
});

test('it folds to blocked with its code, without a carrier and without having been accepted', () => {
  const state = foldEvents([refused, refused]);
  expect(state).toMatchObject({ status: 'blocked', error: 'content_blocked', carrier: null, submittedAtMs: null });
  expect(state?.history.map((each) => each.status)).toEqual(['blocked']);
});

test('it survives the bus, on a subject no carrier can have', () => {
  expect(decodeEvents(encodeEvents([refused]))).toEqual([refused]);
  expect(eventSubject(refused.carrier, 0)).toBe('ev._ingress.0');
});

test('its kind comes after all earlier ones: positions are frozen', () => {
  expect(eventKinds.slice(0, 16)).toEqual([
    ...['accepted', 'scheduled', 'intent', 'submitted', 'delivered', 'undelivered', 'expired', 'rejected', 'unknown'],
    ...['failed', 'blocked', 'canceled', 'deferred', 'rerouted', 'refused', 'resent'],
  ]);
});
