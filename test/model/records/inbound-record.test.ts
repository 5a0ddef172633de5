// The records in INBOUND and their events: records decode to what was encoded, golden ones of version 1 stay readable
// for ever, texts are encrypted, and anything else is poison.
import fc from 'fast-check';
import { Packr } from 'msgpackr';
import { describe, expect, test } from 'vitest';
import { bodyCipher } from '../../../model/records/body-cipher.ts';
import { decodeEvents, encodeEvents } from '../../../model/records/event-record.ts';
import {
  type DecisionRecord,
  type PartRecord,
  decodeDecision,
  decodeInbound,
  encodeDecision,
  encodeInbound,
} from '../../../model/records/inbound-record.ts';
import type { AccountId } from '../../../model/ids.ts';
import { optedEvent, receivedEvent } from '../../../model/inbound-event.ts';
import { RejectMessage } from '../../../platform/errors.ts';

const cipher = bodyCipher(Buffer.alloc(32, 7));
const packr = new Packr({ useRecords: false });

const goldenPart: PartRecord = {
  kind: 'part',
  identity: 'D4xY0123456789abcdefgh',
  occurrence: 1,
  carrier: 'alpha',
  source: '8801712345678',
  sourceTon: 1,
  destination: '16000',
  destinationTon: 3,
  alphabet: 'gsm7',
  dataCoding: 0,
  shift: { locking: 0, single: 4 },
  octets: Buffer.from('STOP'),
  tie: { form: 'udh16', reference: 300, total: 2, part: 1 },
  livemode: true,
  receivedAtMs: 1_750_000_000_000,
};
const published = {
  messageId: 'sms_01JXT21Q003XC5EN4S474RBYJA',
  accountId: 'acc_01JABCDEFGHJKMNPQRSTVWXYZ0',
  carrier: 'alpha',
  clientNumber: '16000',
  subscriber: '+8801712345678',
  livemode: true,
  receivedAtMs: 1_750_000_000_000,
};
const goldenInbound = [
  receivedEvent(published, {
    encoding: 'gsm7',
    segments: 2,
    inbound: { sealedBody: Buffer.from('0102030405', 'hex'), keepBody: true, keyword: 'stop', parts: 1 },
  }),
  optedEvent({ ...published, messageId: 'sms_01JXT21Q003XC5EN4S474RBYJB' }, 'stop', published.messageId),
];

// As version 1 wrote them, frozen.
const goldenInboundHex =
  '920192dc001bba6576745f56686f745a6f4a62766f6f473967646d455f2d37373010cb427977420dc00000be736d735f3031' +
  '4a5854323151303033584335454e34533437345242594a41be6163635f30314a41424344454647484a4b4d4e505152535456' +
  '5758595a30a0a5616c70686100000002c0aa696e636f6d706c6574650001a53136303030ae2b383830313731323334353637' +
  '38c2c3c0c0c0c0cb427977420dc00000cb427977420dc00000c095c4050102030405c30001be736d735f30314a5854323151' +
  '303033584335454e34533437345242594a41dc001bba6576745f355a4f71415f3971656f7449515951426364336a7a7711cb' +
  '427977420dc00000be736d735f30314a5854323151303033584335454e34533437345242594a42be6163635f30314a414243' +
  '44454647484a4b4d4e5051525354565758595a30a0a5616c70686100000000c0c00001a53136303030ae2b38383031373132' +
  '333435363738c2c3c0c0c0c0cb427977420dc00000cb427977420dc00000c095c0c20000be736d735f30314a585432315130' +
  '3033584335454e34533437345242594a41';
const goldenPartHex =
  'dc00100100a5616c706861b64434785930313233343536373839616263646566676801ad3838303137313233343536373801a531363030' +
  '300300009200049401cd012c0201c4241be7ac313469cafc01f6f8010fb4322595c02bb5d5a39f8307c43f7fe71e65a4bc877c04c3cb42' +
  '7977420dc00000';
const goldenOverdueHex = '950101a5616c706861a3616263cb427977420dc00000';

const anyPart: fc.Arbitrary<PartRecord> = fc.record({
  kind: fc.constant('part'),
  identity: fc.stringMatching(/^[A-Za-z0-9_-]{22}$/),
  occurrence: fc.nat(9),
  carrier: fc.constantFrom('alpha', 'beta'),
  source: fc.string({ maxLength: 20 }),
  sourceTon: fc.nat(255),
  destination: fc.string({ maxLength: 20 }),
  destinationTon: fc.nat(255),
  alphabet: fc.constantFrom('gsm7', 'latin1', 'ucs2', 'cyrillic', 'hebrew', 'binary'),
  dataCoding: fc.nat(255),
  shift: fc.option(fc.record({ locking: fc.nat(255), single: fc.nat(255) })),
  octets: fc.uint8Array({ maxLength: 300 }).map((octets) => Buffer.from(octets)),
  tie: fc.option(
    fc.record({
      form: fc.constantFrom('udh8', 'udh16', 'sar'),
      reference: fc.nat(65_535),
      total: fc.nat(255),
      part: fc.nat(255),
    }),
  ),
  livemode: fc.boolean(),
  receivedAtMs: fc.nat(),
});

describe('parts', () => {
  test('any part is decoded as it was encoded', () => {
    fc.assert(
      fc.property(anyPart, (part) => {
        expect(decodeInbound(encodeInbound(part, cipher), cipher)).toEqual(part);
      }),
    );
  });

  test('their text is nowhere in the record', () => {
    const record = encodeInbound({ ...goldenPart, octets: Buffer.from('my secret words') }, cipher);
    expect(record.includes('secret')).toBe(false);
  });

  test('the golden records of version 1 are still read', () => {
    expect(decodeInbound(Buffer.from(goldenPartHex, 'hex'), cipher)).toEqual(goldenPart);
    const overdue = { kind: 'overdue', carrier: 'alpha', text: 'abc', begunAtMs: 1_750_000_000_000 };
    expect(decodeInbound(Buffer.from(goldenOverdueHex, 'hex'), cipher)).toEqual(overdue);
  });

  test('fields that a later version added are left alone', () => {
    const fields = packr.unpack(Buffer.from(goldenPartHex, 'hex')) as unknown[];
    expect(decodeInbound(packr.pack([...fields, 'new', 7]), cipher)).toEqual(goldenPart);
  });

  test('other octets are poison', () => {
    const fields = packr.unpack(Buffer.from(goldenPartHex, 'hex')) as unknown[];
    const broken = [
      Buffer.from('not msgpack'),
      Buffer.alloc(0),
      packr.pack(fields.with(0, 2)),
      packr.pack(fields.with(1, 9)),
      packr.pack(fields.with(9, 77)),
      packr.pack(fields.with(12, [9, 1, 2, 1])),
      packr.pack(fields.with(3, 'another identity')),
      packr.pack(fields.slice(0, 10)),
    ];
    for (const octets of broken) expect(() => decodeInbound(octets, cipher)).toThrow(RejectMessage);
    const otherKey = bodyCipher(Buffer.alloc(32, 8));
    expect(() => decodeInbound(Buffer.from(goldenPartHex, 'hex'), otherKey)).toThrow(RejectMessage);
  });
});

describe('events', () => {
  test('the golden events of version 1 are still read', () => {
    expect(decodeEvents(Buffer.from(goldenInboundHex, 'hex'))).toEqual(goldenInbound);
    expect(decodeEvents(encodeEvents(goldenInbound))).toEqual(goldenInbound);
  });

  test('the same message has the same event, whichever process publishes it and whenever', () => {
    const [first] = goldenInbound;
    const again = receivedEvent(
      { ...published, accountId: '', receivedAtMs: published.receivedAtMs + 5 },
      { encoding: 'gsm7', segments: 2, inbound: { sealedBody: null, keepBody: false, keyword: null, parts: 2 } },
    );
    expect(again.eventId).toBe(first?.eventId);
    expect(again.error).toBeNull();
    expect(first?.error).toBe('incomplete');
  });
});

describe('decisions', () => {
  const decision: DecisionRecord = {
    v: 1,
    keyword: 'stop',
    accountId: published.accountId as AccountId,
    number: published.subscriber,
    sender: '16000',
    atMs: 1,
    messageId: published.messageId,
  };

  test('are decoded as they were encoded', () => {
    for (const each of [decision, { ...decision, sender: null, keyword: 'start' } as const]) {
      expect(decodeDecision(encodeDecision(each))).toEqual(each);
    }
  });

  test('that lack what they need are poison', () => {
    const broken = [
      { v: 2 },
      { keyword: 'help' },
      { number: '16000' },
      { sender: 7 },
      { atMs: null },
      { accountId: 1 },
    ];
    for (const change of broken) {
      const octets = Buffer.from(JSON.stringify({ ...decision, ...change }));
      expect(() => decodeDecision(octets)).toThrow(RejectMessage);
    }
    expect(() => decodeDecision(Buffer.from('{'))).toThrow(RejectMessage);
  });
});
