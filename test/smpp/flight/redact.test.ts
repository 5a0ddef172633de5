// What the flight recorder masks: texts, numbers and passwords; and what it must leave unchanged, so that the recording
// still decodes to the same PDUs.
import fc from 'fast-check';
import { describe, expect, it, test } from 'vitest';
import { encodeMessageId } from '../../../smpp/codec-hot.ts';
import { decodePdu, encodeBind, encodeQuery } from '../../../smpp/codec.ts';
import { redactPdu } from '../../../smpp/flight/redact.ts';
import { commandId, type ShortMessage, type ShortMessagePdu, tlvTag } from '../../../smpp/pdu.ts';
import { parseReceipt } from '../../../smpp/receipt.ts';
import { buildReceiptText } from '../../../smpp/receipt-text.ts';
import { bindFields } from '../bind-fields.ts';
import { encoded, message } from '../messages.ts';

/** Masks a copy inside a larger buffer, as in the ring; the octets around it must not change. */
function redacted(pdu: Buffer): Buffer {
  const around = Buffer.concat([Buffer.alloc(9, 0x55), pdu, Buffer.alloc(9, 0x55)]);
  redactPdu(around, 9, 9 + pdu.length);
  expect(around.subarray(0, 9).equals(Buffer.alloc(9, 0x55))).toBe(true);
  expect(around.subarray(9 + pdu.length).equals(Buffer.alloc(9, 0x55))).toBe(true);
  return around.subarray(9, 9 + pdu.length);
}

const plain = message('Your code is 493817');

/** The same body as a data_sm: without the fields that this command lacks, the text as message_payload. */
function asData(message: ShortMessage): Buffer {
  const text = (value: string) => [...Buffer.from(value, 'latin1'), 0];
  const tlvs = [{ tag: tlvTag.messagePayload, value: message.octets }, ...(message.tlvs ?? [])];
  const body = Buffer.from([
    ...text(message.serviceType ?? ''),
    ...[message.sourceTon, message.sourceNpi, ...text(message.source)],
    ...[message.destinationTon, message.destinationNpi, ...text(message.destination)],
    ...[message.esmClass, message.registeredDelivery, message.dataCoding],
    ...tlvs.flatMap(({ tag, value }) => [tag >> 8, tag & 255, value.length >> 8, value.length & 255, ...value]),
  ]);
  return withHeader(commandId.data_sm, body);
}

function withHeader(command: number, body: Buffer): Buffer {
  const head = Buffer.alloc(16);
  head.writeUInt32BE(16 + body.length, 0);
  head.writeUInt32BE(command, 4);
  head.writeUInt32BE(7, 12);
  return Buffer.concat([head, body]);
}

const read = (pdu: Buffer) => decodePdu(pdu, 0, pdu.length) as ShortMessagePdu;
const digits = (min: number, max: number) =>
  fc.string({ unit: fc.constantFrom(...'0123456789'), minLength: min, maxLength: max });
const octetsOf = (max: number) => fc.uint8Array({ maxLength: max }).map((each) => Buffer.from(each));
const word = fc.stringMatching(/^[a-zA-Z]{7,12}$/);

const anyMessage: fc.Arbitrary<ShortMessage> = fc.record({
  serviceType: fc.constantFrom('', 'CMT', 'OTP'),
  sourceTon: fc.nat(6),
  sourceNpi: fc.nat(18),
  source: fc.oneof(digits(7, 15), fc.constantFrom('Heliograph', 'MyBank24', '')),
  destinationTon: fc.nat(6),
  destinationNpi: fc.nat(18),
  destination: digits(7, 15),
  esmClass: fc.constantFrom(0, 0x40, 0x04, 0x44, 0x20, 0x03),
  protocolId: fc.nat(255),
  priority: fc.nat(3),
  validity: fc.constantFrom('', '000000010000000R'),
  registeredDelivery: fc.nat(255),
  dataCoding: fc.constantFrom(0, 1, 3, 4, 8, 0x18, 0xf5),
  octets: octetsOf(300),
  tlvs: fc.array(
    fc.record({ tag: fc.oneof(fc.nat(0xffff), fc.constantFrom(...Object.values(tlvTag))), value: octetsOf(60) }),
    { maxLength: 4 },
  ),
});

describe('what our codec reads from a masked message', () => {
  it.each(['submit_sm', 'deliver_sm', 'data_sm'] as const)('is the same structure of %s', (command) => {
    fc.assert(
      fc.property(anyMessage, (message) => {
        const pdu = command === 'data_sm' ? asData(message) : encoded(message, command);
        const before = read(pdu);
        const after = read(redacted(pdu));
        const shape = ({ octets, tlvs = [], source, destination, ...rest }: ShortMessagePdu) => ({
          ...rest,
          source: source.length,
          destination: destination.length,
          octets: octets.length,
          tlvs: tlvs.map(({ tag, value }) => [tag, value.length]),
        });
        expect(shape(after)).toEqual(shape(before));
      }),
      { numRuns: 300 },
    );
  });

  it('keeps no word of the text, no whole number and no unknown TLV', () => {
    const secretTlv = fc.record({
      tag: fc.integer({ min: 0x1400, max: 0x3fff }),
      value: word.map((w) => Buffer.from(w)),
    });
    fc.assert(
      fc.property(anyMessage, fc.array(word, { minLength: 1, maxLength: 30 }), secretTlv, (base, words, tlv) => {
        const wide = (base.dataCoding & 0xcc) === 0x08;
        const body = Buffer.from(words.join(' '), wide ? 'utf16le' : 'latin1');
        if (wide) body.swap16();
        const header = base.esmClass & 0x40 ? Buffer.from([5, 0, 3, 9, 2, 1]) : Buffer.alloc(0);
        const message = { ...base, octets: Buffer.concat([header, body]), tlvs: [tlv] };
        for (const pdu of [encoded(message), encoded(message, 'deliver_sm'), asData(message)]) {
          const text = redacted(pdu).toString('latin1').replaceAll('\0', '');
          for (const secret of [...words, tlv.value.toString(), message.destination])
            expect(text).not.toContain(secret);
          if (/^\d+$/.test(message.source)) expect(text).not.toContain(message.source);
          if (header.length > 0) expect(redacted(pdu).includes(header)).toBe(true);
        }
      }),
      { numRuns: 200 },
    );
  });

  it('contains no word at all when the octets are no PDU: truncated or random', () => {
    const marker = 'Secretword';
    const pdus = [
      encoded({ ...plain, octets: Buffer.from(marker) }),
      asData({ ...plain, octets: Buffer.from(marker) }),
    ];
    for (const pdu of pdus) {
      for (let length = 0; length < pdu.length; length += 1) {
        const after = redacted(pdu.subarray(0, length));
        expect(after.toString('latin1')).not.toContain('Secret');
        expect(reading(after)).toBe(reading(pdu.subarray(0, length)));
      }
    }
    fc.assert(
      fc.property(fc.nat(0x200), fc.boolean(), octetsOf(120), (command, isResponse, body) => {
        const pdu = withHeader((command + (isResponse ? 0x80000000 : 0)) >>> 0, body);
        expect(redacted(pdu).subarray(0, 16).equals(pdu.subarray(0, 16))).toBe(true);
      }),
      { numRuns: 500 },
    );
  });
});

function reading(pdu: Buffer): string {
  try {
    return decodePdu(pdu, 0, pdu.length).command;
  } catch (error) {
    return (error as Error).message;
  }
}

describe('a receipt', () => {
  const fields = {
    carrierMessageId: '0A1f-77',
    state: 'delivered',
    errorCode: '000',
    submittedAtMs: 1_795_000_000_000,
    doneAtMs: 1_795_000_002_000,
    text: 'Your code is 493817',
  } as const;
  const deliver = (text: string, changes: Partial<ShortMessage> = {}) =>
    encoded({ ...plain, esmClass: 4, octets: Buffer.from(text), ...changes }, 'deliver_sm');

  it('has the same fields as before, without the quoted text', () => {
    const pdu = deliver(buildReceiptText(fields));
    const after = read(redacted(pdu));
    const published = (reading: ReturnType<typeof parseReceipt>) =>
      reading.kind === 'receipt' ? { ...reading.receipt, recipient: '', sender: '' } : reading;
    expect(published(parseReceipt(after))).toEqual(published(parseReceipt(read(pdu))));
    expect(after.octets.toString()).toBe(`${buildReceiptText({ ...fields, text: '' })}*******************`);
  });

  it('keeps its TLVs', () => {
    const tlvs = [
      { tag: tlvTag.receiptedMessageId, value: Buffer.from('0A1f-77\0') },
      { tag: tlvTag.messageState, value: Buffer.from([2]) },
      { tag: tlvTag.networkErrorCode, value: Buffer.from([3, 0, 9]) },
    ];
    expect(read(redacted(deliver('', { tlvs }))).tlvs).toEqual(tlvs);
  });

  it('in UCS-2 keeps the same', () => {
    const wide = (text: string) => Buffer.from(text, 'utf16le').swap16();
    const pdu = deliver('', { dataCoding: 8, octets: wide('id:77 stat:DELIVRD err:000 Text:আপনার code') });
    expect(read(redacted(pdu)).octets.equals(wide('id:77 stat:DELIVRD err:000 Text:**********'))).toBe(true);
  });

  test.each([
    ['id:77 hello world stat:DELIVRD', 'id:77 ***** ***** stat:DELIVRD'],
    ['Your code is 493817, id:77', '**** **** ** ******, id:77'],
    ['id:77 stat: text:id:secret', 'id:77 stat: text:*********'],
    ['id=77 Submit-Date=2611200819 STAT=UNDELIV', 'id=77 Submit-Date=2611200819 STAT=UNDELIV'],
    ['id:+8801712345678 sub:493817', 'id:************** sub:******'],
    ['stat:somebodyscodewas493817', 'stat:**********************'],
    ['identity:77', '***********'],
    ['text:id:77 stat:DELIVRD', 'text:******************'],
  ])('%j becomes %j', (text, expected) => {
    expect(read(redacted(deliver(text))).octets.toString()).toBe(expected);
  });
});

describe('addresses', () => {
  test.each([
    ['8801712345678', '880171*****78'],
    ['+8801712345678', '+88017******78'],
    ['01712345678', '0171*****78'],
    ['12345678', '1*****78'],
    ['1234567', '*****67'],
    ['16247', '*****'],
    ['Heliograph', 'Heliograph'],
    ['MyBank24', 'MyBank24'],
    ['tel8801712345', 'tel880*****45'],
    ['', ''],
  ])('%j becomes %j', (address, expected) => {
    const { source, destination } = read(redacted(encoded({ ...plain, source: address, destination: address })));
    expect([source, destination]).toEqual([expected, expected]);
  });
});

describe('a user data header', () => {
  const body = (octets: number[]) => {
    const pdu = encoded({ ...plain, esmClass: 0x40, octets: Buffer.from(octets) });
    return [...read(redacted(pdu)).octets];
  };
  const x = 0x2a;

  it('stays when it describes the concatenation', () => {
    expect(body([5, 0, 3, 1, 2, 1, 65, 66])).toEqual([5, 0, 3, 1, 2, 1, x, x]);
    expect(body([10, 8, 4, 1, 2, 3, 1, 0x25, 1, 5, 0, 65])).toEqual([10, 8, 4, 1, 2, 3, 1, 0x25, 1, 5, 0, x]);
  });

  it('is emptied where it could hold text', () => {
    expect(body([6, 0x22, 4, 65, 66, 67, 68, 69])).toEqual([6, 0x22, 4, 0, 0, 0, 0, x]);
    expect(body([5, 0, 9, 65, 66, 67, 68])).toEqual([5, 0, 0, 0, 0, 0, x]);
    expect(body([40, 65, 66])).toEqual([0, 0, 0]);
  });
});

describe('other PDUs', () => {
  it('a bind keeps everything but its password', () => {
    const fields = {
      ...bindFields('heliograph', 'hunter2!', 'VMA'),
      addressTon: 1,
      addressNpi: 1,
      addressRange: '^8801',
    };
    for (const command of ['bind_transmitter', 'bind_receiver', 'bind_transceiver'] as const) {
      const pdu = redacted(encodeBind(command, 1, fields));
      expect(decodePdu(pdu, 0, pdu.length)).toMatchObject({ command, ...fields, password: '********' });
    }
  });

  it('an outbind too, and a bind whose password has no end', () => {
    const outbind = withHeader(0x0b, Buffer.from('smsc\0hunter2\0'));
    expect(redacted(outbind).toString('latin1', 16)).toBe('smsc\0*******\0');
    const endless = withHeader(commandId.bind_receiver, Buffer.from('smsc\0hunter2'));
    expect(redacted(endless).toString('latin1', 16)).toBe(`smsc\0${'\u00ff'.repeat(7)}`);
  });

  it('answers keep the id, also without its last zero, and no text beside it', () => {
    const room = Buffer.alloc(100);
    const pdu = room.subarray(0, encodeMessageId(room, 0, 'submit_sm_resp', 0, 3, '1a2b3c'));
    expect(redacted(pdu).equals(pdu)).toBe(true);
    const bare = withHeader(commandId.submit_sm_resp, Buffer.from('1a2b3c'));
    expect(redacted(bare).equals(bare)).toBe(true);
    const published = withHeader(commandId.data_sm_resp, Buffer.from('7\0\x00\x1d\x00\x06+88017', 'latin1'));
    expect(redacted(published).toString('latin1', 16)).toBe('7\0\x00\x1d\x00\x06******');
  });

  it('query_sm hides the number', () => {
    const query = { messageId: '77', sourceTon: 1, sourceNpi: 1, source: '8801712345678' };
    const pdu = redacted(encodeQuery(4, query));
    expect(decodePdu(pdu, 0, pdu.length)).toMatchObject({ ...query, source: '880171*****78' });
  });

  it('an unknown one is a header and zeros', () => {
    const pdu = withHeader(0x21, Buffer.from('hello 8801712345678'));
    expect(redacted(pdu).subarray(16).equals(Buffer.alloc(19))).toBe(true);
  });
});
