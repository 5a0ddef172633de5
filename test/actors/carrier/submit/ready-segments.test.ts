// The order in which PDUs are written whose intents are durable: OTP first, each class in its own order, and nothing of
// a message that has left `sending`.
import type { JsMsg } from '@nats-io/jetstream';
import fc from 'fast-check';
import { expect, test } from 'vitest';
import { InFlightMessage } from '../../../../actors/carrier/in-flight/in-flight-message.ts';
import { ReadySegments } from '../../../../actors/carrier/submit/ready-segments.ts';
import type { Category } from '../../../../model/message.ts';
import { messageWith } from '../../../support/messages.ts';
import { Flow } from '../in-flight/flow.ts';

const categories = ['otp', 'transactional', 'promotional'] as const;

function sendingMessage(category: Category, intentAtMs = 0): InFlightMessage {
  const inFlight = new InFlightMessage('key', messageWith({ category }), {} as JsMsg, 1e9);
  inFlight.queue();
  inFlight.beginIntent(0, intentAtMs, 1, 1);
  inFlight.send();
  return inFlight;
}

test('an OTP that is chosen after promotional messages is written before those that still wait for their turn', async () => {
  const flow = new Flow(false);
  for (const category of ['promotional', 'promotional', 'otp'] as const) {
    flow.deliver({ category }, null);
    // It is chosen at the end of this turn, and its intent is written.
    await Promise.resolve();
  }
  for (const durable of flow.writes.splice(0)) durable(true);
  while (flow.claims.length > 0) flow.claim('new');
  await Promise.resolve();
  expect(flow.out.map(({ inFlight }) => inFlight.category)).toEqual(['otp', 'promotional', 'promotional']);
});

test('in any order of events: OTP first, each class first in first out, and only messages that are being sent', () => {
  const step = fc.oneof(
    {
      weight: 3,
      arbitrary: fc.record({ push: fc.constantFrom(...categories), segments: fc.integer({ min: 1, max: 3 }) }),
    },
    { weight: 3, arbitrary: fc.constant('write' as const) },
    { weight: 1, arbitrary: fc.record({ leaves: fc.nat({ max: 20 }) }) },
  );
  fc.assert(
    fc.property(fc.array(step, { minLength: 1, maxLength: 60 }), (steps) => {
      const ready = new ReadySegments();
      const messages: InFlightMessage[] = [];
      let expected: { readonly inFlight: InFlightMessage; readonly segment: number }[] = [];
      for (const each of steps) {
        if (each === 'write') {
          const isOtp = ({ inFlight }: { inFlight: InFlightMessage }) => inFlight.category === 'otp';
          const first = expected.find(isOtp) ?? expected[0];
          const next = ready.peek();
          expect(next).toEqual(first);
          if (next === undefined) continue;
          ready.shift(next);
          expected = expected.filter((other) => other !== first);
        } else if ('push' in each) {
          const inFlight = sendingMessage(each.push);
          messages.push(inFlight);
          for (let segment = 1; segment <= each.segments; segment += 1) {
            ready.push({ inFlight, segment });
            expected.push({ inFlight, segment });
          }
        } else {
          const inFlight = messages[each.leaves % Math.max(1, messages.length)];
          if (inFlight?.state !== 'sending') continue;
          inFlight.stopSending();
          expected = expected.filter((other) => other.inFlight !== inFlight);
        }
      }
      expect(ready.size).toBeGreaterThanOrEqual(expected.length);
    }),
  );
});

test('what is written before a new one: the OTP for an OTP, everything for others', () => {
  const ready = new ReadySegments();
  ready.push({ inFlight: sendingMessage('otp'), segment: 1 });
  ready.push({ inFlight: sendingMessage('promotional'), segment: 1 });
  ready.push({ inFlight: sendingMessage('transactional'), segment: 1 });
  expect(ready.sizeAhead('otp')).toBe(1);
  expect(ready.sizeAhead('transactional')).toBe(3);
  expect(ready.sizeAhead('promotional')).toBe(3);
});

test('an intent that has waited too long is found in either class, and taken back with all its segments', () => {
  const ready = new ReadySegments();
  const [young, old] = [sendingMessage('otp', 200), sendingMessage('promotional', 100)];
  for (const segment of [1, 2]) ready.push({ inFlight: old, segment });
  ready.push({ inFlight: young, segment: 1 });
  expect(ready.hasIntentsBefore(99)).toBe(false);
  expect(ready.hasIntentsBefore(100)).toBe(true);
  expect([...ready.takeBack(({ intentAtMs }) => intentAtMs <= 100)]).toEqual([old]);
  expect(ready.size).toBe(1);
  expect(ready.peek()?.inFlight).toBe(young);
});
