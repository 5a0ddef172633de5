// When an open intent of our own that is no longer in flight counts as left: both sides of the time, and never while
// one of its events is being published.
import type { JsMsg } from '@nats-io/jetstream';
import { expect, test } from 'vitest';
import { InFlightMessage } from '../../../../actors/carrier/in-flight/in-flight-message.ts';
import { OwnUnfinished } from '../../../../actors/carrier/deduplication/own-unfinished.ts';
import { limits } from '../../../../platform/limits.ts';
import { ManualClock } from '../../../support/manual-clock.ts';
import { messageWith } from '../../../support/messages.ts';

const { ownOpenWaitMs } = limits.carrier;
const inFlight = new InFlightMessage('one', messageWith(), {} as JsMsg, 0);

test('a record that is redelivered again and again is left after the time in which its events can be read', () => {
  const clock = new ManualClock();
  const own = new OwnUnfinished(clock);
  expect(own.isLeft('one')).toBe(false);
  clock.advance(ownOpenWaitMs - 1);
  expect([own.isLeft('one'), own.isLeft('other')]).toEqual([false, false]);
  clock.advance(1);
  expect([own.isLeft('one'), own.isLeft('other')]).toEqual([true, false]);
});

test('while its events are being published it is not, and its time begins when they are durable', () => {
  const clock = new ManualClock();
  const own = new OwnUnfinished(clock);
  const release = inFlight.hold();
  own.released(inFlight);
  for (let seconds = 0; seconds < 60; seconds += 1) {
    clock.advance(1_000);
    own.dropPublished();
    expect(own.isLeft('one')).toBe(false);
  }
  release();
  own.dropPublished();
  clock.advance(ownOpenWaitMs - 1);
  expect(own.isLeft('one')).toBe(false);
  clock.advance(1);
  expect(own.isLeft('one')).toBe(true);
});
