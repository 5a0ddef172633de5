// The records on the bus: they decode to what was encoded, a record of version 1 stays readable for ever, fields may be
// added at the end, and anything else is poison.
import fc from 'fast-check';
import { Packr } from 'msgpackr';
import { describe, expect, test } from 'vitest';
import { bodyCipher } from '../../../model/records/body-cipher.ts';
import { decodeEvents, encodeEvents, readBatch } from '../../../model/records/event-record.ts';
import { decodeMessage, encodeMessage } from '../../../model/records/message-record.ts';
import { type DeliveryEvent, type EventKind, eventKinds, eventOfMessage } from '../../../model/delivery-event.ts';
import { noShift } from '../../../model/text/national-languages.ts';
import { RejectMessage } from '../../../platform/errors.ts';
import { anyMessage, messageWith } from '../../support/messages.ts';
import {
  goldenEvents,
  goldenEventsHex,
  goldenMessage,
  goldenMessageHex,
  goldenNationalMessage,
  goldenNationalMessageHex,
  goldenResentMessage,
  goldenResentMessageHex,
} from './golden-records.ts';

const cipher = bodyCipher(Buffer.alloc(32, 7));
const packr = new Packr({ useRecords: false, variableMapSize: true });
const rewritten = (octets: Uint8Array, change: (fields: unknown[]) => unknown): Buffer =>
  packr.pack(change(packr.unpack(octets) as unknown[]));

describe('messages', () => {
  test('any message is decoded as it was encoded', () => {
    fc.assert(
      fc.property(anyMessage, (message) => {
        expect(decodeMessage(encodeMessage(message, cipher), cipher)).toEqual(message);
      }),
    );
  });

  test('a body is nowhere in the record', () => {
    const record = encodeMessage(messageWith({ body: { text: 'your code is 493827' } }), cipher);
    expect(record.includes('493827')).toBe(false);
  });

  test('the golden record of version 1 is still read', () => {
    expect(decodeMessage(Buffer.from(goldenMessageHex, 'hex'), cipher)).toEqual(goldenMessage);
  });

  test('the golden record with national tables is still read, and without its last field has none', () => {
    const octets = Buffer.from(goldenNationalMessageHex, 'hex');
    expect(decodeMessage(octets, cipher)).toEqual(goldenNationalMessage);
    const older = rewritten(octets, (fields) => fields.slice(0, 29));
    expect(decodeMessage(older, cipher)).toEqual({ ...goldenNationalMessage, shift: noShift });
  });

  test('the golden record of a message sent once more is still read, and without its last field was never sent again', () => {
    const octets = Buffer.from(goldenResentMessageHex, 'hex');
    expect(decodeMessage(octets, cipher)).toEqual(goldenResentMessage);
    const older = rewritten(octets, (fields) => fields.slice(0, 30));
    expect(decodeMessage(older, cipher)).toEqual({ ...goldenResentMessage, resends: 0 });
  });

  test('an invalid value of national tables is read as none', () => {
    for (const tables of [null, undefined, -1, 0, 'turkish', [1]]) {
      const other = rewritten(encodeMessage(messageWith(), cipher), (fields) => fields.with(29, tables));
      expect(decodeMessage(other, cipher).shift).toEqual(noShift);
    }
  });

  test('a record without its last fields takes their defaults', () => {
    const cut = rewritten(Buffer.from(goldenMessageHex, 'hex'), (fields) => fields.slice(0, 19));
    expect(decodeMessage(cut, cipher)).toEqual({
      ...goldenMessage,
      clientReference: null,
      campaignId: null,
      variantId: null,
      templateId: null,
      livemode: true,
      priceMicros: null,
      priceVersion: null,
      trace: [],
      plan: [],
    });
  });

  test('fields that a later version added are left alone', () => {
    const longer = rewritten(Buffer.from(goldenMessageHex, 'hex'), (fields) => [
      ...fields,
      ['beta'],
      'new',
      { nested: [1] },
      null,
    ]);
    expect(decodeMessage(longer, cipher)).toEqual({ ...goldenMessage, plan: ['beta'] });
  });

  test('a record of another version is poison', () => {
    for (const version of [0, 2, '1', null]) {
      const other = rewritten(encodeMessage(messageWith(), cipher), ([, ...rest]) => [version, ...rest]);
      expect(() => decodeMessage(other, cipher)).toThrow(RejectMessage);
    }
  });

  test('an unknown category is poison, never a message without a lane', () => {
    for (const category of [3, -1, 0.5, null, 'otp']) {
      const other = rewritten(encodeMessage(messageWith(), cipher), (fields) => fields.with(7, category));
      expect(() => decodeMessage(other, cipher)).toThrow(RejectMessage);
    }
  });

  test('garbage is poison', () => {
    fc.assert(
      fc.property(fc.uint8Array({ maxLength: 400 }), (octets) => {
        expect(() => decodeMessage(octets, cipher)).toThrow(RejectMessage);
      }),
    );
  });

  test('a record with a damaged octet is poison or another readable message, never anything else', () => {
    const record = encodeMessage(messageWith(), cipher);
    fc.assert(
      fc.property(fc.nat(record.length - 1), fc.integer({ min: 1, max: 255 }), (place, flip) => {
        const damaged = Buffer.from(record);
        damaged[place] = (damaged[place] as number) ^ flip;
        try {
          const message = decodeMessage(damaged, cipher);
          expect(['otp', 'transactional', 'promotional']).toContain(message.category);
        } catch (error) {
          expect(error).toBeInstanceOf(RejectMessage);
        }
      }),
    );
  });

  test('a body that belongs to another message does not decrypt', () => {
    const one = packr.unpack(encodeMessage(messageWith(), cipher)) as unknown[];
    const moved = rewritten(encodeMessage(messageWith(), cipher), (fields) => fields.with(13, one[13]));
    expect(() => decodeMessage(moved, cipher)).toThrow(RejectMessage);
  });

  test('a body under another key does not decrypt', () => {
    const record = encodeMessage(messageWith(), cipher);
    expect(() => decodeMessage(record, bodyCipher(Buffer.alloc(32, 8)))).toThrow(RejectMessage);
  });
});

describe('the body cipher', () => {
  test('decrypts what it encrypted, bound to the same id only', () => {
    fc.assert(
      fc.property(fc.uint8Array({ maxLength: 500 }), fc.string(), fc.string(), (plain, id, otherId) => {
        const sealed = cipher.seal(plain, id);
        expect(Buffer.compare(cipher.open(sealed, id), Buffer.from(plain))).toBe(0);
        if (Buffer.from(id, 'latin1').equals(Buffer.from(otherId, 'latin1'))) return;
        expect(() => cipher.open(sealed, otherId)).toThrow();
      }),
    );
  });

  test('encrypts the same body differently each time, over a thousand nonces', () => {
    const nonces = new Set(
      Array.from({ length: 1_000 }, () => cipher.seal(Buffer.from('code'), 'id').subarray(0, 12).toString('hex')),
    );
    expect(nonces.size).toBe(1_000);
  });

  test('one changed bit anywhere is detected', () => {
    const sealed = cipher.seal(Buffer.from('your code is 1234'), 'id');
    for (let place = 0; place < sealed.length; place += 1) {
      const changed = Buffer.from(sealed);
      changed[place] = (changed[place] as number) ^ 1;
      expect(() => cipher.open(changed, 'id')).toThrow();
    }
  });

  test('keys of 31 and 33 octets are refused', () => {
    for (const size of [0, 31, 33]) expect(() => bodyCipher(Buffer.alloc(size))).toThrow('32 bytes');
  });
});

const anyEvent: fc.Arbitrary<DeliveryEvent> = fc
  .record({
    message: anyMessage,
    kind: fc.constantFrom<EventKind>(...eventKinds),
    atMs: fc.integer({ min: 0, max: 4_102_444_800_000 }),
    attempt: fc.nat(),
    segment: fc.integer({ min: 0, max: 10 }),
    carrierMessageId: fc.option(fc.string(), { nil: null }),
    error: fc.option(fc.string(), { nil: null }),
    epoch: fc.nat(),
    detail: fc.string(),
  })
  .map(({ message, ...draft }) => eventOfMessage(message, draft));

describe('events', () => {
  test('any batch is decoded as it was encoded', () => {
    fc.assert(
      fc.property(fc.array(anyEvent, { maxLength: 20 }), (batch) => {
        expect(decodeEvents(encodeEvents(batch))).toEqual(batch);
      }),
    );
  });

  test('the golden batch of version 1 is still read', () => {
    expect(decodeEvents(Buffer.from(goldenEventsHex, 'hex'))).toEqual(goldenEvents);
  });

  test('the kinds keep their positions, because records contain positions', () => {
    expect(eventKinds.slice(0, 20)).toEqual([
      'accepted',
      'scheduled',
      'intent',
      'submitted',
      'delivered',
      'undelivered',
      'expired',
      'rejected',
      'unknown',
      'failed',
      'blocked',
      'canceled',
      'deferred',
      'rerouted',
      'refused',
      'resent',
      'received',
      'opted_out',
      'opted_in',
      'hedged',
    ]);
  });

  test('fields that a later version added are left alone', () => {
    const longer = rewritten(Buffer.from(goldenEventsHex, 'hex'), ([version, batch]) => [
      version,
      (batch as unknown[][]).map((each) => [...each, 'new', 7]),
    ]);
    expect(decodeEvents(longer)).toEqual(goldenEvents);
  });

  test('an event without a required field is not read, and the others of its batch are', () => {
    for (const place of [0, 1, 2, 3, 10, 14, 23, 24]) {
      const other = rewritten(Buffer.from(goldenEventsHex, 'hex'), ([version, batch]) => [
        version,
        [...(batch as unknown[][]).map((each) => each.with(place, null)), ...(batch as unknown[][])],
      ]);
      const { events, unread } = readBatch(other);
      expect(events).toEqual(goldenEvents);
      expect(unread).toHaveLength(goldenEvents.length);
    }
  });

  test('garbage is poison', () => {
    fc.assert(
      fc.property(fc.uint8Array({ maxLength: 400 }), (octets) => {
        expect(() => decodeEvents(octets)).toThrow(RejectMessage);
      }),
    );
  });
});
