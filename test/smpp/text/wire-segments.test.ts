// Every form of a text on the wire, decoded by the simulator's reader: the text is the same, and so is the number of
// segments, for every carrier setting.
import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import { plainWire } from '../../support/plain-wire.ts';
import { countSegments } from '../../../model/text/segment-count.ts';
import type { TextRules } from '../../../model/wire-rules.ts';
import type { ShortMessagePdu } from '../../../smpp/pdu.ts';
import { bodyOf, textOf } from '../../../smpp/simulator/reading.ts';
import { wireOctets, type WireSegment, wireSegments } from '../../../smpp/text/wire-segments.ts';
import { message } from '../messages.ts';

const plain = plainWire.text;

function pduOf(part: WireSegment): ShortMessagePdu {
  const payload = part.tlvs?.find(({ tag }) => tag === 0x0424)?.value;
  const { octets, dataCoding, hasUdh, tlvs = [] } = part;
  const fields = { dataCoding, octets: payload ?? octets, tlvs, esmClass: hasUdh ? 0x40 : 0 };
  return { command: 'submit_sm', status: 0, sequence: 1, ...message(''), ...fields };
}

const read = (parts: WireSegment[], rules: TextRules) =>
  parts.map((part) => textOf(pduOf(part), bodyOf(pduOf(part)), rules)).join('');

const anyRules: fc.Arbitrary<TextRules> = fc.record({
  gsm7Form: fc.constantFrom('unpacked', 'packed'),
  gsm7DataCoding: fc.constantFrom(0, 1, 0xf1),
  ucs2DataCoding: fc.constant(8),
  latin1DataCoding: fc.constant(3),
  latin1: fc.constantFrom('never', 'instead_of_ucs2', 'first'),
  concatenation: fc.constantFrom('udh', 'sar', 'message_payload'),
});
const gsmText = fc.string({ unit: fc.constantFrom(...'abc @é€{Δñ1'), minLength: 1, maxLength: 500 });
const anyText = fc.oneof(
  gsmText,
  fc.string({ unit: fc.constantFrom(...'abçã½ñ1 '), minLength: 1, maxLength: 300 }),
  fc.string({ unit: 'grapheme', minLength: 1, maxLength: 300 }),
);

describe('a text on the wire', () => {
  test('is the same text in the same number of segments, for every carrier setting', () => {
    fc.assert(
      fc.property(anyText, anyRules, (text, rules) => {
        const counted = countSegments(text);
        fc.pre(counted.ok && !text.endsWith('\r'));
        if (!counted.ok) return;
        const parts = wireSegments(text, counted.encoding, 0x1234, rules);
        expect(read(parts, rules)).toBe(text);
        const isPayload = rules.concatenation === 'message_payload' && counted.segmentCount > 1;
        expect(parts).toHaveLength(isPayload ? 1 : counted.segmentCount);
        expect(new Set(parts.map(({ dataCoding }) => dataCoding)).size).toBe(1);
        if (isPayload) return;
        for (const { octets, dataCoding } of parts) {
          // What the SMSC packs itself fits the air interface too: 160 septets, or those beside the header.
          const isUnpacked = rules.gsm7Form === 'unpacked' && dataCoding === rules.gsm7DataCoding;
          expect(octets.length).toBeLessThanOrEqual(isUnpacked || dataCoding === 3 ? 160 : 140);
        }
      }),
      { numRuns: 300 },
    );
  });

  test('that is short carries neither header nor TLVs', () => {
    for (const concatenation of ['udh', 'sar', 'message_payload'] as const) {
      const parts = wireSegments('short', 'gsm7', 7, { ...plain, concatenation });
      expect(parts).toEqual([{ octets: Buffer.from('short'), dataCoding: 0, hasUdh: false }]);
    }
  });
});

describe('octets of a client', () => {
  const udh = Buffer.from([6, 8, 4, 0x12, 0x34, 2, 1]);

  test('are sent unchanged to a plain carrier', () => {
    const body = { octets: Buffer.from('abc'), dataCoding: 0, udh };
    const octets = Buffer.concat([udh, Buffer.from('abc')]);
    expect(wireOctets(body, plain)).toEqual({ octets, dataCoding: 0, hasUdh: true });
  });

  test('are packed after their header, and take the data_coding of the contract', () => {
    const rules = { ...plain, gsm7Form: 'packed', gsm7DataCoding: 0xf1 } as const;
    for (const header of [null, udh, Buffer.from([5, 0, 3, 9, 2, 1])]) {
      const part = wireOctets({ octets: Buffer.from('hello world'), dataCoding: 0, udh: header }, rules);
      expect(part.dataCoding).toBe(0xf1);
      expect(read([part], rules)).toBe('hello world');
    }
  });

  test('replace a header that is only a concatenation by SAR, and keep any other', () => {
    const rules = { ...plain, concatenation: 'sar' } as const;
    const part = wireOctets({ octets: Buffer.from('abc'), dataCoding: 0, udh }, rules);
    expect(part).toMatchObject({ octets: Buffer.from('abc'), hasUdh: false });
    expect(bodyOf(pduOf(part)).concatenation).toMatchObject({ reference: 0x1234, total: 2, part: 1 });
    const ports = Buffer.from([6, 5, 4, 0x0b, 0x84, 0x23, 0xf0]);
    expect(wireOctets({ octets: Buffer.from('abc'), dataCoding: 4, udh: ports }, rules)).toEqual({
      octets: Buffer.concat([ports, Buffer.from('abc')]),
      dataCoding: 4,
      hasUdh: true,
    });
  });
});
