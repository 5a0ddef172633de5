// Reading a deliver_sm that is no receipt: every alphabet, every form of concatenation, every carrier's own codings.
import fc from 'fast-check';
import { describe, expect, it, test } from 'vitest';
import { withHeader } from '../../model/text/concatenation.ts';
import { inboundBodyOf } from '../../model/inbound-body.ts';
import { nationalLanguages } from '../../model/text/national-languages.ts';
import { encodeText } from '../../model/text/octets.ts';
import { segmentText } from '../../model/text/segments.ts';
import { type AlphabetRules, alphabetOf, inboundPartOf } from '../../smpp/inbound-part.ts';
import type { ShortMessagePdu } from '../../smpp/pdu.ts';
import { type InboundForm, inboundForms, inboundPdus } from '../../smpp/simulator/inbound.ts';
import { fillBitsAfter, packSeptets } from '../../smpp/text/packed-septets.ts';
import { deliverSm } from './messages.ts';

const rules: AlphabetRules = { gsm7Form: 'unpacked', gsm7DataCoding: 0, ucs2DataCoding: 8, latin1DataCoding: 3 };
const packed: AlphabetRules = { ...rules, gsm7Form: 'packed' };

const asPdus = (text: string, as: InboundForm) =>
  inboundPdus({ from: '+8801712345678', to: '16000', text, as, reference: 300 }).map((message) => deliverSm(message));
const joined = (pdus: readonly ShortMessagePdu[], with_ = rules) => {
  const parts = pdus.map((pdu) => inboundPartOf(pdu, with_));
  return inboundBodyOf(parts.sort((one, other) => (one.tie?.part ?? 0) - (other.tie?.part ?? 0)));
};

describe('a text', () => {
  const anyText = fc.oneof(
    fc.stringMatching(/^[A-Za-z0-9 @£$€{}[\]~^|\\ÄÖÑÜ§äöñüà?!]{1,500}$/),
    fc.string({ unit: fc.constantFrom('আ', 'ম', 'ি', ' ', '😀', 'x', 'é'), minLength: 1, maxLength: 300 }),
  );

  test('is the same text in whatever parts it arrives', () => {
    fc.assert(
      fc.property(anyText, fc.constantFrom(...inboundForms), (text, form) => {
        const pdus = asPdus(text, form);
        expect(joined(pdus)).toEqual({ text });
        const segmented = segmentText(text);
        const total = segmented.ok ? segmented.segments.length : 0;
        const ties = pdus.map((pdu) => inboundPartOf(pdu, rules).tie);
        if (total === 1 || form === 'message_payload') expect(ties).toEqual([null]);
        else expect(ties.map((tie) => tie?.total)).toEqual(Array.from({ length: total }, () => total));
      }),
      { numRuns: 200 },
    );
  });

  test('packed by the carrier, with and without a header, is the same', () => {
    fc.assert(
      fc.property(fc.stringMatching(/^[A-Za-z0-9 @£{}]{1,150}$/), fc.boolean(), (text, hasHeader) => {
        const tie = { reference: 9, referenceBits: 8, total: 2, part: 1 } as const;
        const header = hasHeader ? withHeader(tie, { locking: 0, single: 0 }, Buffer.alloc(0)) : Buffer.alloc(0);
        const body = packSeptets(encodeText(text, 'gsm7'), fillBitsAfter(header.length));
        const pdu = deliverSm({ octets: Buffer.concat([header, body]), esmClass: hasHeader ? 0x40 : 0 });
        const part = inboundPartOf(pdu, packed);
        expect(inboundBodyOf([part])).toEqual({ text });
        expect(part.tie?.part ?? null).toBe(hasHeader ? 1 : null);
      }),
    );
  });

  it('in national tables is read with those its header names', () => {
    const shift = { locking: 0, single: nationalLanguages.turkish };
    const octets = withHeader(null, shift, encodeText('şifreniz ğ', 'gsm7', shift));
    const part = inboundPartOf(deliverSm({ octets, esmClass: 0x40 }), rules);
    expect(inboundBodyOf([part])).toEqual({ text: 'şifreniz ğ' });
  });

  it('is a copy: the buffer it was read from may be reused', () => {
    const octets = Buffer.from('hello');
    const part = inboundPartOf(deliverSm({ octets, dataCoding: 3 }), rules);
    octets.fill(0);
    expect(part.octets.toString()).toBe('hello');
  });
});

describe('data_coding', () => {
  it.each([
    [0x00, 'gsm7'],
    [0x01, 'latin1'],
    [0x02, 'binary'],
    [0x03, 'latin1'],
    [0x04, 'binary'],
    [0x05, 'binary'],
    [0x06, 'cyrillic'],
    [0x07, 'hebrew'],
    [0x08, 'ucs2'],
    [0x0a, 'ucs2'],
    [0x10, 'gsm7'],
    [0x13, 'gsm7'],
    [0x14, 'binary'],
    [0x18, 'ucs2'],
    [0xc0, 'binary'],
    [0xf0, 'gsm7'],
    [0xf3, 'gsm7'],
    [0xf4, 'binary'],
    [0xf7, 'binary'],
  ] as const)('%i is %s', (dataCoding, alphabet) => expect(alphabetOf(dataCoding, rules)).toBe(alphabet));

  it("that the carrier's configuration maps takes precedence", () => {
    const own = { ...rules, gsm7DataCoding: 4, ucs2DataCoding: 24, latin1DataCoding: 1 };
    expect(alphabetOf(4, own)).toBe('gsm7');
    expect(alphabetOf(24, own)).toBe('ucs2');
    expect(alphabetOf(1, own)).toBe('latin1');
  });

  it('of eight bits keeps its octets', () => {
    const octets = Buffer.of(0x00, 0x1b, 0xff);
    const part = inboundPartOf(deliverSm({ octets, dataCoding: 4 }), rules);
    expect(inboundBodyOf([part])).toEqual({ octets, dataCoding: 4, udh: null });
  });
});

describe('an invalid concatenation is ignored', () => {
  const header = (...octets: number[]) =>
    inboundPartOf(deliverSm({ octets: Buffer.from([octets.length, ...octets, 0x41]), esmClass: 0x40 }), rules);

  it.each([
    ['one part of one', [0x00, 3, 7, 1, 1]],
    ['part 0', [0x00, 3, 7, 2, 0]],
    ['part 3 of 2', [0x00, 3, 7, 2, 3]],
    ['no parts', [0x00, 3, 7, 0, 0]],
    ['a length of its own', [0x00, 2, 7, 2]],
  ])('%s', (_name, octets) => {
    expect(header(...octets).tie).toBeNull();
    expect(header(...octets).octets.toString('latin1')).toBe('A');
  });

  it('a valid one has its form', () => {
    expect(header(0x00, 3, 7, 2, 1).tie).toEqual({ form: 'udh8', reference: 7, total: 2, part: 1 });
    expect(header(0x08, 4, 1, 7, 2, 2).tie).toEqual({ form: 'udh16', reference: 263, total: 2, part: 2 });
  });

  test('no octets make it throw', () => {
    fc.assert(
      fc.property(fc.uint8Array({ maxLength: 60 }), fc.nat(255), fc.boolean(), (octets, dataCoding, hasHeader) => {
        const pdu = deliverSm({ octets: Buffer.from(octets), dataCoding, esmClass: hasHeader ? 0x40 : 0 });
        for (const each of [rules, packed]) {
          const body = inboundBodyOf([inboundPartOf(pdu, each)]);
          expect('text' in body ? body.text.isWellFormed() : body.octets.length <= octets.length).toBe(true);
        }
      }),
    );
  });
});
