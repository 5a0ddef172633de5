// The ledger: what a redelivery may do, told by the events of an earlier life. A generation map forgets by time and
// by count, never early by time alone.
import { describe, expect, test } from 'vitest';
import { attemptNumber, delaysOf, holdKey, triesMax } from '../../../../actors/carrier/in-flight/attempt.ts';
import { Generations } from '../../../../actors/carrier/repeats/generations.ts';
import { putOffText } from '../../../../actors/carrier/outcome/put-off-event.ts';
import { Ledger } from '../../../../actors/carrier/repeats/ledger.ts';
import { UnknownSubmits } from '../../../../actors/carrier/outcome/unknown-submits.ts';
import { type DeliveryEvent, type Happening, eventOfMessage } from '../../../../model/delivery-event.ts';
import { ManualClock } from '../../../support/manual-clock.ts';
import { messageWith } from '../../../support/messages.ts';

const message = messageWith();
const long = messageWith({ segments: 3 });
const event = (of: typeof message, happening: Partial<Happening>): DeliveryEvent =>
  eventOfMessage(of, { kind: 'intent', atMs: 1, attempt: 1, ...happening });

function verdictAfter(of: typeof message, ...happenings: Partial<Happening>[]): string {
  const ledger = new Ledger(new ManualClock());
  for (const each of happenings) ledger.learn(event(of, each));
  return ledger.verdictOf(holdKey(of.messageId, of.hop, of.delays));
}

describe('what an earlier life left', () => {
  test('nothing: new', () => {
    expect(verdictAfter(message)).toBe('new');
    expect(verdictAfter(message, { kind: 'accepted', attempt: 0 })).toBe('new');
  });
  test('an intent alone: its outcome is not known', () => {
    expect(verdictAfter(message, {})).toBe('intent_without_outcome');
  });
  test('an intent and its outcome: settled', () => {
    for (const kind of ['rejected', 'unknown', 'expired', 'failed', 'blocked', 'canceled', 'rerouted'] as const) {
      expect(verdictAfter(message, {}, { kind })).toBe('settled');
    }
    expect(verdictAfter(message, {}, { kind: 'submitted', segment: 1 })).toBe('settled');
    expect(verdictAfter(message, {}, { kind: 'delivered', segment: 1 })).toBe('settled');
  });
  test('two of three segments submitted: the outcome of the third is not known', () => {
    const two = [{}, { kind: 'submitted', segment: 1 }, { kind: 'submitted', segment: 3 }] as const;
    expect(verdictAfter(long, ...two)).toBe('intent_without_outcome');
    expect(verdictAfter(long, ...two, { kind: 'submitted', segment: 2 })).toBe('settled');
  });
  test('"unknown" from a receipt, of one of three segments: the other two are not known', () => {
    const told = [
      {},
      { kind: 'submitted', segment: 1 },
      { kind: 'unknown', segment: 1, carrierMessageId: '7' },
    ] as const;
    expect(verdictAfter(long, ...told)).toBe('intent_without_outcome');
    expect(verdictAfter(message, {}, { kind: 'unknown', segment: 1, carrierMessageId: '7' })).toBe('settled');
  });
  test('refused for a moment: it may go again, and a further intent closes that again', () => {
    const deferred = [{}, { kind: 'deferred', segment: 1, detail: '1' }] as const;
    expect(verdictAfter(message, ...deferred)).toBe('new');
    expect(verdictAfter(message, ...deferred, { attempt: 2 })).toBe('intent_without_outcome');
  });
  test('a deferral told late does not hide the intent after it', () => {
    expect(verdictAfter(message, {}, { attempt: 2 }, { kind: 'deferred', segment: 1 })).toBe('intent_without_outcome');
  });
  test('deferred into LATER: this record is over, the one that comes back is another', () => {
    expect(verdictAfter(message, {}, { kind: 'deferred', segment: 0, detail: 'later' })).toBe('settled');
    const ledger = new Ledger(new ManualClock());
    ledger.learn(event(message, { kind: 'deferred', segment: 0 }));
    expect(ledger.verdictOf(holdKey(message.messageId, 0, 1))).toBe('new');
  });
  test('about to be published into LATER: it may only go there, until that is over or taken back', () => {
    const putOff = { kind: 'deferred', segment: 1, error: putOffText(77_000, 'ESME_RTHROTTLED'), epoch: 7 } as const;
    const begun = [{ epoch: 7 }, putOff] as const;
    expect(verdictAfter(message, ...begun)).toBe('put_off');
    expect(verdictAfter(message, ...begun, { kind: 'deferred', segment: 0, epoch: 7 })).toBe('settled');
    expect(verdictAfter(message, ...begun, { kind: 'deferred', segment: 1, epoch: 7 })).toBe('new');
    // Only whoever began with it takes it back.
    expect(verdictAfter(message, ...begun, { kind: 'deferred', segment: 1, epoch: 8 })).toBe('put_off');
    // What another node writes behind it counts for nothing.
    expect(verdictAfter(message, ...begun, { attempt: 2, epoch: 8 })).toBe('put_off');
    expect(verdictAfter(message, ...begun, { kind: 'expired', epoch: 7 })).toBe('settled');
    const ledger = new Ledger(new ManualClock());
    for (const each of begun) ledger.learn(event(message, each));
    const key = holdKey(message.messageId, message.hop, message.delays);
    expect(ledger.putOffOf(key)).toEqual({ dueAtMs: 77_000, why: 'ESME_RTHROTTLED' });
    expect(ledger.ownerOf(key)).toBe(7);
  });
  test('sent once more: it may go again, and the intent after that is the last', () => {
    const resent = [{}, { kind: 'resent', segment: 1 }] as const;
    expect(verdictAfter(message, ...resent)).toBe('new');
    expect(verdictAfter(message, ...resent, { attempt: 2 })).toBe('intent_without_outcome');
    expect(verdictAfter(message, {}, { attempt: 2 }, { kind: 'resent', segment: 1 })).toBe('intent_without_outcome');
    expect(verdictAfter(message, ...resent, { kind: 'submitted', segment: 1 })).toBe('settled');
    const ledger = new Ledger(new ManualClock());
    const key = holdKey(long.messageId, 0, 0);
    const told = [{}, { kind: 'submitted', segment: 1 }, { kind: 'resent', segment: 2 }, { attempt: 2 }] as const;
    for (const each of told.slice(0, 3)) ledger.learn(event(long, each));
    expect([ledger.wasResent(key), ledger.takenBitsOf(key), ledger.attemptOf(key)]).toEqual([true, 0b10, 1]);
    ledger.learn(event(long, told[3]));
    expect([ledger.wasResent(key), ledger.takenBitsOf(key), ledger.attemptOf(key)]).toEqual([true, 0b10, 2]);
  });
  test('segments the carrier took are remembered while the rest waits', () => {
    const ledger = new Ledger(new ManualClock());
    for (const each of [{}, { kind: 'submitted', segment: 1 }, { kind: 'deferred', segment: 2 }] as const) {
      ledger.learn(event(long, each));
    }
    const key = holdKey(long.messageId, 0, 0);
    expect(ledger.verdictOf(key)).toBe('new');
    expect(ledger.takenBitsOf(key)).toBe(0b10);
  });
});

test('what is settled stays settled for at least the replay window', () => {
  const clock = new ManualClock();
  const ledger = new Ledger(clock);
  ledger.settle('one');
  for (let count = 0; count < 59; count += 1) {
    clock.advance(1_000);
    ledger.settle(`other ${count}`);
  }
  expect(ledger.verdictOf('one')).toBe('settled');
  clock.advance(60_000);
  ledger.settle('two');
  clock.advance(60_001);
  ledger.settle('three');
  ledger.settle('four');
  expect(ledger.verdictOf('one')).toBe('new');
});

test('a generation map forgets after two spans and not before one', () => {
  const clock = new ManualClock();
  const map = new Generations<string, number>(1_000, 100, clock);
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

test('a generation map never holds more than two generations', () => {
  const map = new Generations<number, number>(1_000, 10, new ManualClock());
  for (let key = 0; key < 1_000; key += 1) map.set(key, key);
  expect(map.size).toBeLessThanOrEqual(20);
  expect(map.get(999)).toBe(999);
});

test('attempt numbers tell delays and tries apart', () => {
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

test('hold keys differ by hop and by delay', () => {
  const keys = [
    [0, 0],
    [1, 0],
    [0, 1],
    [1, 1],
    [11, 1],
    [1, 11],
  ].map(([hop, delays]) => holdKey('m', hop!, delays!));
  expect(new Set(keys).size).toBe(6);
});

describe('unknown submits', () => {
  const unknown = (of = message, atMs = 1_000) => event(of, { kind: 'unknown', segment: 1, atMs });
  test('one that fits is found by recipient and sender, until it is settled', () => {
    const submits = new UnknownSubmits(new ManualClock());
    const one = unknown();
    submits.add(one);
    expect(submits.find(message.recipient, 'helio', null)).toBe(one);
    expect(submits.find(message.recipient, 'OTHER', null)).toBeNull();
    submits.settle(one);
    expect(submits.find(message.recipient, 'HELIO', null)).toBeNull();
  });
  test('two that fit prove nothing', () => {
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
  test('what is unknown as a whole ends with the first receipt', () => {
    const submits = new UnknownSubmits(new ManualClock());
    const long = messageWith({ segments: 3 });
    submits.add(event(long, { kind: 'unknown', segment: 1 }));
    submits.add(event(long, { kind: 'unknown', segment: 0 }));
    expect(submits.find(long.recipient, 'HELIO', null)?.segment).toBe(0);
    submits.settle(event(long, { kind: 'delivered', segment: 1, carrierMessageId: '7' }));
    expect(submits.find(long.recipient, 'HELIO', null)).toBeNull();
  });
  test('of a message that was sent again each copy waits for its own receipt', () => {
    const submits = new UnknownSubmits(new ManualClock());
    const first = unknown();
    submits.add(first);
    submits.settle(event(message, { kind: 'delivered', segment: 1, attempt: 2, carrierMessageId: '7' }));
    expect(submits.find(message.recipient, 'HELIO', null)).toBe(first);
    submits.settle(event(message, { kind: 'delivered', segment: 1, attempt: 1, carrierMessageId: '8' }));
    expect(submits.find(message.recipient, 'HELIO', null)).toBeNull();
  });
  test('the submit date tells two apart when they are a day apart', () => {
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
