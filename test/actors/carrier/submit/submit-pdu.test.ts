// The submit_sm a carrier gets: its rules for addresses, times, optional parameters and texts, each alone.
import { describe, expect, test } from 'vitest';
import {
  segmentsOf,
  segmentsPerPdu,
  reportedSegmentOf,
  submitHeader,
  submitPdu,
} from '../../../../actors/carrier/submit/submit-pdu.ts';
import type { WireConfig } from '../../../../config/wire-schema.ts';
import { plainWire } from '../../../support/plain-wire.ts';
import { messageWith } from '../../../support/messages.ts';

const noAddr = { sourceTon: null, sourceNpi: null, destTon: null, destNpi: null };
const plain = { addr: noAddr, wire: plainWire };
const rulesWith = (changes: Partial<WireConfig>) => ({ addr: noAddr, wire: { ...plainWire, ...changes } });
const pduOf = (message: ReturnType<typeof messageWith>, rules: Parameters<typeof submitPdu>[2], nowMs = 0) =>
  submitPdu(message, segmentsOf(message, rules)[0]!, rules, nowMs);

describe('the PDU of a segment', () => {
  test('a retry of a long message repeats its concatenation reference', () => {
    const long = messageWith({ body: { text: 'x'.repeat(400) }, segments: 3 });
    expect(segmentsOf(long, plain)).toEqual(segmentsOf(long, plain));
    expect(segmentsOf(long, plain)).toHaveLength(3);
  });

  test('its header is made once and is the same for each segment; an address that a PDU cannot hold is refused there', () => {
    const long = messageWith({ body: { text: 'x'.repeat(400) }, segments: 3 });
    const header = submitHeader(long, plain);
    for (const part of segmentsOf(long, plain)) {
      expect(submitPdu(long, part, plain, 0, header)).toEqual(submitPdu(long, part, plain, 0));
    }
    expect(() => submitHeader(messageWith({ sender: 'বাংলা' }), plain)).toThrow('source_addr');
    expect(() => submitHeader(messageWith({ recipient: 'nobody' }), plain)).toThrow('E.164');
  });

  test("the carrier's TON and NPI win over what the number suggests, the message's own over both", () => {
    const message = messageWith();
    expect(pduOf(message, plain)).toMatchObject({ sourceTon: 5, destinationTon: 1, destinationNpi: 1 });
    const carrier = { addr: { ...noAddr, sourceTon: 0, destTon: 2 }, wire: plainWire };
    expect(pduOf(message, carrier)).toMatchObject({ sourceTon: 0, destinationTon: 2 });
    const own = messageWith({ senderTonNpi: { ton: 3, npi: 4 } });
    expect(pduOf(own, carrier)).toMatchObject({ sourceTon: 3, sourceNpi: 4 });
  });

  test.each([
    ['Helio', 'alphanumeric'],
    ['16216', 'short_code'],
    ['+8801712345678', 'international'],
    ['01712345678', 'national'],
  ] as const)('the rule for the kind of sender %s is %s and wins over the rule for all', (sender, kind) => {
    const source = { ...plainWire.source, [kind]: { ton: 6, npi: 9 } };
    const carrier = { addr: { ...noAddr, sourceTon: 0, sourceNpi: 0 }, wire: { ...plainWire, source } };
    expect(pduOf(messageWith({ sender }), carrier)).toMatchObject({ sourceTon: 6, sourceNpi: 9 });
    const others = sender === 'Helio' ? '16216' : 'Helio';
    expect(pduOf(messageWith({ sender: others }), carrier)).toMatchObject({ sourceTon: 0, sourceNpi: 0 });
  });

  test.each([
    ['e164_digits', '', '8801712345678', 1],
    ['plus', '', '+8801712345678', 1],
    ['national', '', '1712345678', 2],
    ['national', '0', '01712345678', 2],
  ] as const)('the destination as %s with prefix "%s" is %s', (format, nationalPrefix, address, ton) => {
    const destination = { format, callingCode: '880', nationalPrefix, nationalDigitsMax: 10 };
    expect(pduOf(messageWith(), rulesWith({ destination }))).toMatchObject({
      destination: address,
      destinationTon: ton,
      destinationNpi: 1,
    });
    const abroad = pduOf(messageWith({ recipient: '+4915112345678' }), rulesWith({ destination }));
    expect(abroad.destination).toBe(format === 'plus' ? '+4915112345678' : '4915112345678');
    expect(abroad.destinationTon).toBe(1);
  });

  test.each([
    ['none', ''],
    ['relative', '000000000100000R'],
    ['absolute', '700101000200000+'],
  ] as const)('validity_period %s is %j', (validityPeriod, text) => {
    const message = messageWith({ validUntilMs: 120_000 });
    expect(pduOf(message, rulesWith({ validityPeriod }), 60_000).validity).toBe(text);
  });

  test('priority_flag and service_type follow the category, registered_delivery the carrier', () => {
    const rules = rulesWith({
      priorityFlag: { otp: 3, transactional: 1, promotional: 0 },
      serviceType: { otp: 'OTP', transactional: '', promotional: 'PROMO' },
      registeredDelivery: 17,
    });
    expect(pduOf(messageWith({ category: 'otp' }), rules)).toMatchObject({ priority: 3, serviceType: 'OTP' });
    expect(pduOf(messageWith({ category: 'promotional' }), rules)).toMatchObject({ priority: 0, serviceType: 'PROMO' });
    expect(pduOf(messageWith(), rules).registeredDelivery).toBe(17);
    expect(pduOf(messageWith({ registeredDelivery: 2 }), plain).registeredDelivery).toBe(2);
  });

  test('vendor TLVs carry a value or a field of the message, and are left out when there is none', () => {
    const rules = rulesWith({
      tlvs: [
        { tag: 0x1400, type: 'string', value: '1101234' },
        { tag: 0x1401, type: 'cstring', from: 'template_id' },
        { tag: 0x1402, type: 'int16', value: '513' },
        { tag: 0x1403, type: 'hex', value: '00ff' },
        { tag: 0x1404, type: 'string', from: 'sender' },
        { tag: 0x1405, type: 'int8', from: 'client_reference' },
      ],
    });
    const tlvs = (message: ReturnType<typeof messageWith>) =>
      pduOf(message, rules).tlvs!.map(({ tag, value }) => [tag.toString(16), value.toString('latin1')]);
    const always = [
      ['1400', '1101234'],
      ['1402', '\x02\x01'],
      ['1403', '\x00\xff'],
      ['1404', 'HELIO'],
    ];
    expect(tlvs(messageWith())).toEqual(always);
    // A reference that is no number cannot be an int8: the message goes without it.
    expect(tlvs(messageWith({ clientReference: 'order 7' }))).toEqual(always);
    expect(tlvs(messageWith({ clientReference: '7', templateId: 'T1' }))).toEqual([
      always[0],
      ['1401', 'T1\x00'],
      ...always.slice(1),
      ['1405', '\x07'],
    ]);
    expect(pduOf(messageWith(), plain).tlvs).toBeUndefined();
  });

  test('SAR and vendor TLVs are independent', () => {
    const text = { ...plainWire.text, concatenation: 'sar' as const };
    const rules = rulesWith({ text, tlvs: [{ tag: 0x1400, type: 'int8', value: '1' }] });
    const long = messageWith({ body: { text: 'x'.repeat(200) }, segments: 2 });
    expect(pduOf(long, rules).tlvs!.map(({ tag }) => tag)).toEqual([0x020c, 0x020e, 0x020f, 0x1400]);
    expect(pduOf(long, rules).esmClass).toBe(0);
  });

  test.each(['udh', 'sar', 'message_payload'] as const)('%s takes the segments of the message', (concatenation) => {
    const rules = rulesWith({ text: { ...plainWire.text, concatenation } });
    const long = messageWith({ body: { text: 'x'.repeat(400) }, segments: 3 });
    const parts = segmentsOf(long, rules);
    const charged = parts.reduce((sum) => sum + segmentsPerPdu(long, parts), 0);
    expect(charged).toBe(3);
    expect(parts.map((_, index) => reportedSegmentOf(long, parts, index + 1))).toEqual(
      concatenation === 'message_payload' ? [0] : [1, 2, 3],
    );
    const short = messageWith();
    expect(segmentsPerPdu(short, segmentsOf(short, rules))).toBe(1);
    expect(reportedSegmentOf(short, segmentsOf(short, rules), 1)).toBe(1);
  });

  test('a sender or a recipient that a PDU cannot hold is refused with its code', () => {
    expect(() => pduOf(messageWith({ sender: 'টাকা' }), plain)).toThrow(/sender/);
    expect(() => pduOf(messageWith({ recipient: '+1' }), plain)).toThrow(/recipient/);
  });

  test('a text that its encoding cannot hold is refused, not thrown into the thread', () => {
    expect(() => segmentsOf(messageWith({ body: { text: 'টাকা' }, encoding: 'gsm7' }), plain)).toThrow(
      expect.objectContaining({ name: 'RejectMessage', code: 'encoding_mismatch' }),
    );
  });
});
