// The replay index: how a redelivery is handled, by the events of an earlier incarnation. A rotating map forgets by
// time and by count, never early by time alone.
import { describe, expect, test } from 'vitest';
import { attemptNumber, delaysOf, deliveryKey, triesMax } from '../../../../actors/carrier/in-flight/attempt.ts';
import { RotatingMap } from '../../../../platform/rotating-map.ts';
import { deferralText } from '../../../../actors/carrier/deduplication/deferral-event.ts';
import { ReplayIndex } from '../../../../actors/carrier/deduplication/replay-index.ts';
import { UnknownSubmits } from '../../../../actors/carrier/outcome/unknown-submits.ts';
import { type DeliveryEvent, type EventDraft, eventOfMessage } from '../../../../model/delivery-event.ts';
import { ManualClock } from '../../../support/manual-clock.ts';
import { messageWith } from '../../../support/messages.ts';

const message = messageWith();
const long = messageWith({ segments: 3 });
const event = (of: typeof message, draft: Partial<EventDraft>): DeliveryEvent =>
  eventOfMessage(of, { kind: 'intent', atMs: 1, attempt: 1, ...draft });

function statusAfter(of: typeof message, ...drafts: Partial<EventDraft>[]): string {
  const replayIndex = new ReplayIndex(new ManualClock());
  for (const each of drafts) replayIndex.learn(event(of, each));
  return replayIndex.statusOf(deliveryKey(of.messageId, of.hop, of.delays));
}

describe('events of an earlier incarnation', () => {
  test('none: new', () => {
    expect(statusAfter(message)).toBe('new');
    expect(statusAfter(message, { kind: 'accepted', attempt: 0 })).toBe('new');
  });
  test('an intent alone: its outcome is not known', () => {
    expect(statusAfter(message, {})).toBe('intent_without_outcome');
  });
  test('an intent and its outcome: settled', () => {
    for (const kind of ['rejected', 'unknown', 'expired', 'failed', 'blocked', 'canceled', 'rerouted'] as const) {
      expect(statusAfter(message, {}, { kind })).toBe('settled');
    }
    expect(statusAfter(message, {}, { kind: 'submitted', segment: 1 })).toBe('settled');
    expect(statusAfter(message, {}, { kind: 'delivered', segment: 1 })).toBe('settled');
  });
  test('a second copy decided, before its outcome or after it was accepted: the copy may have to be published', () => {
    const hedged = { kind: 'hedged', error: 'to beta: no_receipt' } as const;
    const accepted = { kind: 'submitted', segment: 1 } as const;
    expect(statusAfter(message, {}, accepted, hedged)).toBe('copied');
    expect(statusAfter(message, {}, hedged, accepted)).toBe('copied');
    expect(statusAfter(message, {}, accepted, { ...hedged, error: 'control group: no_receipt' })).toBe('settled');
  });
  test('read again by the actor that made the copy durable: only its ack may be missing', () => {
    const replayIndex = new ReplayIndex(new ManualClock());
    const key = deliveryKey(message.messageId, message.hop, message.delays);
    const [intent, accepted] = [event(message, {}), event(message, { kind: 'submitted', segment: 1 })];
    const hedged = event(message, { kind: 'hedged', error: 'to beta: no_receipt' });
    for (const each of [intent, accepted]) replayIndex.learn(each);
    replayIndex.settle(key);
    replayIndex.learn(hedged);
    replayIndex.learn(event(message, { kind: 'delivered', segment: 1 }));
    expect(replayIndex.statusOf(key)).toBe('settled');
  });
  test('two of three segments submitted: the outcome of the third is not known', () => {
    const two = [{}, { kind: 'submitted', segment: 1 }, { kind: 'submitted', segment: 3 }] as const;
    expect(statusAfter(long, ...two)).toBe('intent_without_outcome');
    expect(statusAfter(long, ...two, { kind: 'submitted', segment: 2 })).toBe('settled');
  });
  test('"unknown" from a receipt, of one of three segments: the other two are not known', () => {
    const published = [
      {},
      { kind: 'submitted', segment: 1 },
      { kind: 'unknown', segment: 1, carrierMessageId: '7' },
    ] as const;
    expect(statusAfter(long, ...published)).toBe('intent_without_outcome');
    expect(statusAfter(message, {}, { kind: 'unknown', segment: 1, carrierMessageId: '7' })).toBe('settled');
  });
  test('refused temporarily: it may be sent again, and a further intent closes that again', () => {
    const deferred = [{}, { kind: 'deferred', segment: 1, detail: '1' }] as const;
    expect(statusAfter(message, ...deferred)).toBe('new');
    expect(statusAfter(message, ...deferred, { attempt: 2 })).toBe('intent_without_outcome');
  });
  test('a deferral published late does not hide the intent after it', () => {
    expect(statusAfter(message, {}, { attempt: 2 }, { kind: 'deferred', segment: 1 })).toBe('intent_without_outcome');
  });
  test('deferred into LATER: this record is over, the released one is another', () => {
    expect(statusAfter(message, {}, { kind: 'deferred', segment: 0, detail: 'later' })).toBe('settled');
    const replayIndex = new ReplayIndex(new ManualClock());
    replayIndex.learn(event(message, { kind: 'deferred', segment: 0 }));
    expect(replayIndex.statusOf(deliveryKey(message.messageId, 0, 1))).toBe('new');
  });
  test('about to be published into LATER: it may only go there, until that is over or revoked', () => {
    const deferral = {
      kind: 'deferred',
      segment: 1,
      error: deferralText(77_000, 'ESME_RTHROTTLED'),
      epoch: 7,
    } as const;
    const begun = [{ epoch: 7 }, deferral] as const;
    expect(statusAfter(message, ...begun)).toBe('deferred');
    expect(statusAfter(message, ...begun, { kind: 'deferred', segment: 0, epoch: 7 })).toBe('settled');
    expect(statusAfter(message, ...begun, { kind: 'deferred', segment: 1, epoch: 7 })).toBe('new');
    // Only the writer that began it may revoke it.
    expect(statusAfter(message, ...begun, { kind: 'deferred', segment: 1, epoch: 8 })).toBe('deferred');
    // Another node's later events do not count.
    expect(statusAfter(message, ...begun, { attempt: 2, epoch: 8 })).toBe('deferred');
    expect(statusAfter(message, ...begun, { kind: 'expired', epoch: 7 })).toBe('settled');
    const replayIndex = new ReplayIndex(new ManualClock());
    for (const each of begun) replayIndex.learn(event(message, each));
    const key = deliveryKey(message.messageId, message.hop, message.delays);
    expect(replayIndex.deferralOf(key)).toEqual({ dueAtMs: 77_000, why: 'ESME_RTHROTTLED' });
    expect(replayIndex.ownerOf(key)).toBe(7);
  });
  test('sent once more: it may be sent again, and the intent after that is the last', () => {
    const resent = [{}, { kind: 'resent', segment: 1 }] as const;
    expect(statusAfter(message, ...resent)).toBe('new');
    expect(statusAfter(message, ...resent, { attempt: 2 })).toBe('intent_without_outcome');
    expect(statusAfter(message, {}, { attempt: 2 }, { kind: 'resent', segment: 1 })).toBe('intent_without_outcome');
    expect(statusAfter(message, ...resent, { kind: 'submitted', segment: 1 })).toBe('settled');
    const replayIndex = new ReplayIndex(new ManualClock());
    const key = deliveryKey(long.messageId, 0, 0);
    const published = [{}, { kind: 'submitted', segment: 1 }, { kind: 'resent', segment: 2 }, { attempt: 2 }] as const;
    for (const each of published.slice(0, 3)) replayIndex.learn(event(long, each));
    expect([replayIndex.wasResent(key), replayIndex.takenBitsOf(key), replayIndex.attemptOf(key)]).toEqual([
      true,
      0b10,
      1,
    ]);
    replayIndex.learn(event(long, published[3]));
    expect([replayIndex.wasResent(key), replayIndex.takenBitsOf(key), replayIndex.attemptOf(key)]).toEqual([
      true,
      0b10,
      2,
    ]);
  });
  test('accepted segments are remembered while the rest waits', () => {
    const replayIndex = new ReplayIndex(new ManualClock());
    for (const each of [{}, { kind: 'submitted', segment: 1 }, { kind: 'deferred', segment: 2 }] as const) {
      replayIndex.learn(event(long, each));
    }
    const key = deliveryKey(long.messageId, 0, 0);
    expect(replayIndex.statusOf(key)).toBe('new');
    expect(replayIndex.takenBitsOf(key)).toBe(0b10);
  });
});

test('what is settled stays settled for at least the replay window', () => {
  const clock = new ManualClock();
  const replayIndex = new ReplayIndex(clock);
  replayIndex.settle('one');
  for (let count = 0; count < 59; count += 1) {
    clock.advance(1_000);
    replayIndex.settle(`other ${count}`);
  }
  expect(replayIndex.statusOf('one')).toBe('settled');
  clock.advance(60_000);
  replayIndex.settle('two');
  clock.advance(60_001);
  replayIndex.settle('three');
  replayIndex.settle('four');
  expect(replayIndex.statusOf('one')).toBe('new');
});

test('a rotating map forgets after two spans and not before one', () => {
  const clock = new ManualClock();
  const map = new RotatingMap<string, number>(1_000, 100, clock);
  map.set('a', 1);
  clock.advance(1_000);
  map.set('b', 2);
  expect(map.get('a')).toBe(1);
  clock.advance(1_000);
  map.set('c', 3);
  expect(map.get('a')).toBeUndefined();
  expect(map.get('b')).toBe(2);
  map.set('b', 4);
  expect(map.get('b')).toBe(4);
  map.delete('b');
  expect(map.get('b')).toBeUndefined();
});

test('a rotating map never holds more than two generations', () => {
  const map = new RotatingMap<number, number>(1_000, 10, new ManualClock());
  for (let key = 0; key < 1_000; key += 1) map.set(key, key);
  expect(map.size).toBeLessThanOrEqual(20);
  expect(map.get(999)).toBe(999);
});

test('attempt numbers distinguish delays and tries', () => {
  const seen = new Set<number>();
  for (let delays = 0; delays < 50; delays += 1) {
    for (let tries = 0; tries <= triesMax; tries += 1) {
      const attempt = attemptNumber(delays, tries);
      expect(delaysOf(attempt)).toBe(delays);
      expect(seen.has(attempt)).toBe(false);
      seen.add(attempt);
    }
  }
  expect(() => attemptNumber(0, triesMax + 1)).toThrow();
});

test('delivery keys differ by hop and by delay', () => {
  const keys = [
    [0, 0],
    [1, 0],
    [0, 1],
    [1, 1],
    [11, 1],
    [1, 11],
  ].map(([hop, delays]) => deliveryKey('m', hop!, delays!));
  expect(new Set(keys).size).toBe(6);
});

describe('unknown submits', () => {
  const unknown = (of = message, atMs = 1_000) => event(of, { kind: 'unknown', segment: 1, atMs });
  test('a matching one is found by recipient and sender, until it is settled', () => {
    const submits = new UnknownSubmits(new ManualClock());
    const one = unknown();
    submits.add(one);
    expect(submits.find(message.recipient, 'helio', null)).toBe(one);
    expect(submits.find(message.recipient, 'OTHER', null)).toBeNull();
    submits.settle(one);
    expect(submits.find(message.recipient, 'HELIO', null)).toBeNull();
  });
  test('two matches prove nothing', () => {
    const submits = new UnknownSubmits(new ManualClock());
    submits.add(unknown());
    submits.add(unknown(messageWith({ recipient: message.recipient })));
    expect(submits.find(message.recipient, 'HELIO', null)).toBeNull();
  });
  test('once one of two is settled, the other is the only one left', () => {
    const submits = new UnknownSubmits(new ManualClock());
    const [one, other] = [unknown(), unknown(messageWith({ recipient: message.recipient }))];
    submits.add(one);
    submits.add(other);
    submits.settle(event(message, { kind: 'delivered', segment: 1, carrierMessageId: '7' }));
    expect(submits.find(message.recipient, 'HELIO', null)).toBe(other);
  });
  test('segments of one message are settled one by one, each by one receipt, in whatever order', () => {
    const submits = new UnknownSubmits(new ManualClock());
    const long = messageWith({ segments: 3 });
    for (const segment of [1, 2, 3]) submits.add(event(long, { kind: 'unknown', segment }));
    submits.settle(event(long, { kind: 'delivered', segment: 2, carrierMessageId: '7' }));
    const found = [1, 2].map(() => {
      const one = submits.find(long.recipient, 'HELIO', null)!;
      submits.settle(one);
      return one.segment;
    });
    expect(found.toSorted((one, other) => one - other)).toEqual([1, 3]);
    expect(submits.find(long.recipient, 'HELIO', null)).toBeNull();
  });
  test('one that is unknown as a whole ends with the first receipt', () => {
    const submits = new UnknownSubmits(new ManualClock());
    const long = messageWith({ segments: 3 });
    submits.add(event(long, { kind: 'unknown', segment: 1 }));
    submits.add(event(long, { kind: 'unknown', segment: 0 }));
    expect(submits.find(long.recipient, 'HELIO', null)?.segment).toBe(0);
    submits.settle(event(long, { kind: 'delivered', segment: 1, carrierMessageId: '7' }));
    expect(submits.find(long.recipient, 'HELIO', null)).toBeNull();
  });
  test('each copy of a message that was sent again waits for its own receipt', () => {
    const submits = new UnknownSubmits(new ManualClock());
    const first = unknown();
    submits.add(first);
    submits.settle(event(message, { kind: 'delivered', segment: 1, attempt: 2, carrierMessageId: '7' }));
    expect(submits.find(message.recipient, 'HELIO', null)).toBe(first);
    submits.settle(event(message, { kind: 'delivered', segment: 1, attempt: 1, carrierMessageId: '8' }));
    expect(submits.find(message.recipient, 'HELIO', null)).toBeNull();
  });
  test('the submit date distinguishes two that are a day apart', () => {
    const submits = new UnknownSubmits(new ManualClock());
    const early = unknown(message, 0);
    submits.add(early);
    submits.add(unknown(messageWith({ recipient: message.recipient }), 86_400_000));
    expect(submits.find(message.recipient, 'HELIO', 3_600_000)).toBe(early);
  });
  test('a numeric sender is found with and without its plus', () => {
    const submits = new UnknownSubmits(new ManualClock());
    const one = unknown(messageWith({ sender: '+8809612345678' }));
    submits.add(one);
    expect(submits.find(one.recipient, '8809612345678', null)).toBe(one);
  });
});
