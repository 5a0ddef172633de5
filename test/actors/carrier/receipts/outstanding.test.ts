// Receipts find their submit however the carrier writes its ids, and never find another message's.
import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import { type Match, Outstanding } from '../../../../actors/carrier/receipts/outstanding.ts';
import { canonical, readAs } from '../../../../model/carrier-message-id.ts';
import { type DeliveryEvent, eventOfMessage } from '../../../../model/delivery-event.ts';
import { limits } from '../../../../platform/limits.ts';
import { ManualClock } from '../../../support/manual-clock.ts';
import { messageWith } from '../../../support/messages.ts';

function submitted(carrierMessageId: string, recipient = '+8801711111111'): DeliveryEvent {
  return eventOfMessage(messageWith({ recipient }), {
    kind: 'submitted',
    atMs: 1,
    attempt: 1,
    segment: 1,
    carrierMessageId,
  });
}

function found(responseId: string, receiptId: string, form: 'auto' | 'raw' | 'hex' | 'decimal' = 'auto'): boolean {
  const outstanding = new Outstanding(form, new ManualClock());
  const event = submitted(responseId);
  outstanding.add(event);
  return idOf(outstanding.find(receiptId, event.recipient)) === event.messageId;
}

const idOf = (match: Match | null) => (match?.repeated === false ? match.submitted.messageId : null);

describe('ids in other forms are found', () => {
  test.each([
    ['the same', 'a1b2', 'a1b2'],
    ['other case', 'A1B2', 'a1b2'],
    ['padded in the receipt', '12345', '0000012345'],
    ['padded in the response', '0000012345', '12345'],
    ['hexadecimal, then decimal', 'ff', '255'],
    ['hexadecimal of digits only, then decimal', '10', '16'],
    ['hexadecimal in capitals and padded, then decimal padded', '000000FF', '0000000255'],
    ['decimal, then hexadecimal', '255', 'FF'],
    ['with 0x in the response', '0xFF', 'ff'],
    ['with 0x in the receipt', 'ff', '0xFF'],
    ['with 0x in the response, then decimal', '0x1A', '26'],
    ['beyond 2^53, hexadecimal, then decimal', '2000000000000001', '2305843009213693953'],
    ['beyond 2^53, decimal, then hexadecimal', '18446744073709551615', 'ffffffffffffffff'],
    ['zero', '0', '0000'],
    ['surrounded by blanks', 'abc ', ' ABC'],
    ['a UUID', '0F8FAD5B-D9CB-469F-A165-70867728950E', '0f8fad5b-d9cb-469f-a165-70867728950e'],
  ])('%s', (_how, responseId, receiptId) => {
    expect(found(responseId, receiptId)).toBe(true);
  });

  test('any number, hexadecimal in one place and decimal in the other, in any padding and case', () => {
    const padding = fc.integer({ min: 0, max: 10 }).map((count) => '0'.repeat(count));
    fc.assert(
      fc.property(
        fc.bigInt({ min: 1n, max: 2n ** 64n - 1n }),
        padding,
        padding,
        fc.boolean(),
        (id, one, other, upper) => {
          const hex = one + (upper ? id.toString(16).toUpperCase() : id.toString(16));
          const decimal = other + id.toString(10);
          expect(found(hex, decimal)).toBe(true);
          expect(found(decimal, hex)).toBe(true);
          expect(found(hex, decimal, 'hex')).toBe(true);
          expect(found(decimal, hex, 'decimal')).toBe(true);
        },
      ),
    );
  });
});

test('neighbours beyond 2^53 are distinguished', () => {
  expect(found('9007199254740993', '9007199254740992')).toBe(false);
});

test('two messages whose ids collide in different readings are not mixed up', () => {
  fc.assert(
    fc.property(fc.integer({ min: 10, max: 9_999_999 }), fc.boolean(), (number, learntFirst) => {
      const outstanding = new Outstanding('auto', new ManualClock());
      // One carrier id in hexadecimal reads like the other in decimal: a receipt `number` could mean both.
      const hex = submitted(number.toString(16), '+8801711111111');
      const raw = submitted(String(number), '+8801722222222');
      if (canonical(number.toString(16)) === String(number)) return;
      outstanding.add(hex);
      outstanding.add(raw);
      if (learntFirst) outstanding.find(String(number), hex.recipient);
      expect(idOf(outstanding.find(String(number), hex.recipient))).toBe(hex.messageId);
      expect(idOf(outstanding.find(String(number), raw.recipient))).toBe(raw.messageId);
      expect(outstanding.find(String(number), '+8801733333333')).toBeNull();
    }),
  );
});

test('a receipt without a number is matched by its id alone', () => {
  const outstanding = new Outstanding('auto', new ManualClock());
  const event = submitted('77');
  outstanding.add(event);
  expect(idOf(outstanding.find('77', null))).toBe(event.messageId);
});

test('auto learns the reading that worked, tries it first, and reports it once', () => {
  const published: string[] = [];
  const outstanding = new Outstanding('auto', new ManualClock(), (reading) => published.push(reading));
  expect(outstanding.learnt).toBeNull();
  for (const id of ['1f4', '1f5', '1f6']) outstanding.add(submitted(id));
  for (const id of ['500', '501', '999', '502']) outstanding.find(id, '+8801711111111');
  expect(outstanding.learnt).toBe('hex');
  expect(published).toEqual(['hex']);
});

describe('a reading that was never needed', () => {
  const [clock, other] = [new ManualClock(), '+8801722222222'];
  /** As many receipts as it takes, each readable in one way only. */
  function learn(outstanding: Outstanding, from: number, spelt: (id: number) => string): void {
    for (let id = from; id < from + 20; id += 1) {
      const event = submitted(String(id));
      outstanding.add(event);
      expect(idOf(outstanding.find(spelt(id), event.recipient))).toBe(event.messageId);
      outstanding.settle(event);
    }
  }
  const raw = (id: number) => String(id);
  const hex = (id: number) => id.toString(16);

  test('is dropped after twenty matches: a repeat of a forgotten receipt settles no newer message', () => {
    const outstanding = new Outstanding('auto', clock);
    learn(outstanding, 1_000, raw);
    const first = submitted('10');
    outstanding.add(first);
    expect(idOf(outstanding.find('10', first.recipient))).toBe(first.messageId);
    outstanding.settle(first);
    const second = submitted('16');
    outstanding.add(second);
    // Later receipts make it forget the first.
    for (const id of ['777', '778']) {
      clock.advance(100_000);
      outstanding.settle(submitted(id));
    }
    // Read as hexadecimal "10" is 16: the other message to the same number.
    expect(outstanding.find('10', first.recipient)).toBeNull();
    expect(outstanding.fitsDroppedReading('10', first.recipient)).toBe(true);
    expect(outstanding.candidates('10')).toEqual(['10']);
    expect(idOf(outstanding.find('16', second.recipient))).toBe(second.messageId);
  });

  test('is kept when the carrier ever needed it, and comes after the one that matched last in a query', () => {
    const outstanding = new Outstanding('auto', clock);
    const event = submitted('5000');
    outstanding.add(event);
    expect(idOf(outstanding.find(hex(5_000), event.recipient))).toBe(event.messageId);
    learn(outstanding, 1_000, raw);
    expect(outstanding.candidates('99')).toEqual(['99', '153']);
  });

  test('is tried again when three consecutive messages match in no other, and one alone proves nothing', () => {
    const outstanding = new Outstanding('auto', clock);
    learn(outstanding, 1_000, raw);
    const events = [3_000, 3_001, 3_002].map((id) => submitted(String(id)));
    for (const event of events) outstanding.add(event);
    const find = (id: number) => idOf(outstanding.find(hex(id), events[0]!.recipient));
    for (let times = 0; times < 5; times += 1) {
      expect(outstanding.fitsDroppedReading(hex(3_000), events[0]!.recipient)).toBe(true);
    }
    expect(find(3_000)).toBeNull();
    expect(outstanding.fitsDroppedReading(hex(3_001), other)).toBe(false);
    for (const id of [3_001, 3_002]) outstanding.fitsDroppedReading(hex(id), events[0]!.recipient);
    expect(find(3_000)).toBe(events[0]!.messageId);
    learn(outstanding, 4_000, hex);
    expect(outstanding.candidates('99')).toEqual(['153']);
  });
});

test('the query of the event store begins with the id as it is written', () => {
  expect(new Outstanding('auto', new ManualClock()).candidates('0010')).toEqual(['10', 'a', '16']);
});

describe('an id that no form in use can read is looked up as it is written', () => {
  test.each([
    ['hex', 'MSG-0abc'],
    ['hex', 'deadbeef-1'],
    ['decimal', 'msg-0abc'],
  ] as const)('%s: %s', (form, id) => {
    expect(new Outstanding(form, new ManualClock()).candidates(id)).toEqual([id.toLowerCase()]);
  });

  test('any text, in any form, can be read as some id', () => {
    const forms = fc.constantFrom('auto' as const, 'raw' as const, 'hex' as const, 'decimal' as const);
    fc.assert(
      fc.property(fc.string(), forms, (id, form) => {
        expect(new Outstanding(form, new ManualClock()).candidates(id)).not.toEqual([]);
      }),
    );
  });
});

test('a second receipt is recognised as a repeat for a minute', () => {
  const clock = new ManualClock();
  const outstanding = new Outstanding('auto', clock);
  const event = submitted('5');
  outstanding.add(event);
  expect(idOf(outstanding.find('5', event.recipient))).toBe(event.messageId);
  outstanding.settle(event);
  expect(outstanding.size).toBe(0);
  clock.advance(59_000);
  expect(outstanding.find('5', event.recipient)).toEqual({ repeated: true });
  expect(outstanding.find('5', '+8801799999999')).toBeNull();
});

test('beyond the bound the oldest is forgotten, at the bound none', () => {
  const outstanding = new Outstanding('raw', new ManualClock());
  const event = submitted('0');
  const max = limits.carrier.outstandingMax;
  for (let id = 1; id <= max; id += 1) outstanding.add({ ...event, carrierMessageId: String(id) });
  expect(outstanding.find('1', null)).not.toBeNull();
  outstanding.add({ ...event, carrierMessageId: String(max + 1) });
  expect(outstanding.size).toBe(max);
  expect(outstanding.find('1', null)).toBeNull();
  expect(outstanding.find('2', null)).not.toBeNull();
});

test('reading any text as an id in any way gives a text or null and never throws', () => {
  fc.assert(
    fc.property(fc.string(), fc.constantFrom('raw' as const, 'hex' as const, 'decimal' as const), (id, reading) => {
      const read = readAs(id, reading);
      expect(read === null || typeof read === 'string').toBe(true);
    }),
  );
});
