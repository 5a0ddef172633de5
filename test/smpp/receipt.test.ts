// Receipts in carriers' forms, TLVs before text, parsed and built.
import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import { encodeText } from '../../model/text/octets.ts';
import { type ShortMessagePdu, type Tlv, tlvTag } from '../../smpp/pdu.ts';
import { isReceipt, parseReceipt, type ReceiptState, receiptStateNumber } from '../../smpp/receipt.ts';
import { buildReceiptText, receiptDate } from '../../smpp/receipt-text.ts';

function delivery(text: string, overrides: Partial<ShortMessagePdu> = {}): ShortMessagePdu {
  return {
    command: 'deliver_sm',
    status: 0,
    sequence: 1,
    ...{ sourceTon: 1, sourceNpi: 1, source: '8801712345678' },
    ...{ destinationTon: 5, destinationNpi: 0, destination: 'Heliograph' },
    ...{ esmClass: 0x04, registeredDelivery: 0, dataCoding: 0 },
    octets: Buffer.from(text, 'latin1'),
    tlvs: [],
    ...overrides,
  };
}

function receiptOf(pdu: ShortMessagePdu) {
  const reading = parseReceipt(pdu);
  if (reading.kind !== 'receipt') throw new Error(`read as ${reading.kind}`);
  return reading.receipt;
}

const states = Object.keys(receiptStateNumber) as ReceiptState[];

describe('a receipt as text', () => {
  test('is read as it was built', () => {
    fc.assert(
      fc.property(
        fc.stringMatching(/^[A-Za-z0-9_.-]{1,64}$/),
        fc.constantFrom(...states),
        fc.stringMatching(/^[0-9A-F]{3}$/),
        fc.integer({ min: 1_600_000_000, max: 1_900_000_000 }),
        fc.string({ unit: 'grapheme-ascii', maxLength: 20 }),
        (carrierMessageId, state, errorCode, second, text) => {
          const [submittedAtMs, doneAtMs] = [second * 1_000, (second + 7) * 1_000];
          const built = buildReceiptText({ carrierMessageId, state, errorCode, submittedAtMs, doneAtMs, text });
          expect(receiptOf(delivery(built))).toEqual({
            carrierMessageId,
            state,
            errorCode,
            submittedAt: submittedAtMs,
            recipient: '8801712345678',
            sender: 'Heliograph',
          });
        },
      ),
    );
  });

  test.each([
    [
      'id:0A1B2C sub:001 dlvrd:001 submit date:2611200519 done date:2611200520 stat:DELIVRD err:000 text:',
      '0A1B2C',
      'delivered',
      '000',
    ],
    [
      'ID:77 SUB:1 DLVRD:0 SUBMIT DATE:261120051901 DONE DATE:261120052001 STAT:UNDELIV ERR:027 TEXT:x',
      '77',
      'undelivered',
      '027',
    ],
    ['stat:EXPIRED   id:9 err:1', '9', 'expired', '1'],
    ['  id: 5  stat: rejectd err: 00b', '5', 'rejected', '00b'],
    ['id:5', '5', 'enroute', ''],
    ['id:5 stat:SOMETHING foo:bar', '5', 'enroute', ''],
    ['id:5 submitdate:2611200519 donedate:2611200520 stat:DELETED', '5', 'deleted', ''],
    ['id:a_b sub:001 stat:ACCEPTD err:000', 'a_b', 'accepted', '000'],
  ])('"%s"', (text, carrierMessageId, state, errorCode) => {
    expect(receiptOf(delivery(text))).toMatchObject({ carrierMessageId, state, errorCode });
  });

  // docs/receipts.md has this table for operators.
  test.each([
    ['UNKNOWN', 0x04, '000', 'unknown'],
    ['UNKNOWN', 0x20, '000', 'enroute'],
    ['ENROUTE', 0x04, '000', 'enroute'],
    ['ACCEPTD', 0x04, '000', 'accepted'],
    ['SENT', 0x04, '000', 'enroute'],
    ['RETRY', 0x04, '027', 'enroute'],
    ['pending', 0x04, '', 'enroute'],
    ['VENDORWD', 0x04, '000', 'enroute'],
    ['VENDORWD', 0x04, '', 'enroute'],
    ['VENDORWD', 0x04, '027', 'unknown'],
    ['VENDORWD', 0x20, '027', 'enroute'],
    ['DELIVRD', 0x20, '000', 'delivered'],
  ] as const)('stat:%s with esm_class %i and err:%s is %s', (stat, esmClass, errorCode, state) => {
    const text = `id:5 stat:${stat} err:${errorCode}`;
    expect(receiptOf(delivery(text, { esmClass }))).toMatchObject({ carrierMessageId: '5', state });
  });

  test('reads no field from the client’s text', () => {
    const read = receiptOf(delivery('id:1 stat:DELIVRD err:000 text:id:2 stat:UNDELIV err:999'));
    expect(read).toMatchObject({ carrierMessageId: '1', state: 'delivered', errorCode: '000' });
  });

  test.each([
    ['2611200519', Date.UTC(2026, 10, 20, 5, 19)],
    ['261120051907', Date.UTC(2026, 10, 20, 5, 19, 7)],
    ['202611200519', Date.UTC(2026, 10, 20, 5, 19)],
    ['2613200519', undefined],
    ['2611200560', undefined],
    ['26112005', undefined],
    ['yesterday', undefined],
  ])('takes the submit date %s as UTC, or as none', (date, submittedAt) => {
    const reading = parseReceipt(delivery(`id:1 submit date:${date} done date:2611200520 stat:DELIVRD`));
    expect(reading.kind === 'receipt' && reading.receipt.submittedAt).toBe(submittedAt);
  });

  test('in UCS-2 and behind a header is read too', () => {
    const octets = encodeText('id:12 stat:DELIVRD', 'ucs2');
    expect(receiptOf(delivery('', { octets, dataCoding: 8 }))).toMatchObject({ carrierMessageId: '12' });
    const headed = Buffer.concat([Buffer.from('050003010101', 'hex'), Buffer.from('id:13 stat:DELIVRD')]);
    expect(receiptOf(delivery('', { octets: headed, esmClass: 0x44 }))).toMatchObject({ carrierMessageId: '13' });
  });
});

describe('a receipt as TLVs', () => {
  const tlvs = (id: string, state: number, code?: number): Tlv[] => [
    { tag: tlvTag.receiptedMessageId, value: Buffer.from(`${id}\0`) },
    { tag: tlvTag.messageState, value: Buffer.from([state]) },
    ...(code === undefined ? [] : [{ tag: tlvTag.networkErrorCode, value: Buffer.from([3, code >>> 8, code & 255]) }]),
  ];

  test('needs no text', () => {
    for (const state of states) {
      const read = receiptOf(delivery('', { tlvs: tlvs('abc', receiptStateNumber[state], 27) }));
      expect(read).toMatchObject({ carrierMessageId: 'abc', state, errorCode: '27' });
    }
  });

  test('takes precedence over the text', () => {
    const read = receiptOf(delivery('id:1 stat:UNDELIV err:099', { tlvs: tlvs('2', 2) }));
    expect(read).toMatchObject({ carrierMessageId: '2', state: 'delivered', errorCode: '099' });
  });

  test('that is truncated is ignored', () => {
    const cut = [tlvTag.receiptedMessageId, tlvTag.messageState, tlvTag.networkErrorCode].map((tag) => ({
      tag,
      value: Buffer.alloc(0),
    }));
    expect(receiptOf(delivery('id:1 stat:DELIVRD', { tlvs: cut }))).toMatchObject({ state: 'delivered' });
  });
});

test('what is no receipt is not read as one', () => {
  expect(parseReceipt(delivery('id:1 stat:DELIVRD', { esmClass: 0 })).kind).toBe('not_a_receipt');
  expect(parseReceipt(delivery('hello')).kind).toBe('unreadable');
  expect([0x00, 0x04, 0x08, 0x10, 0x20, 0x44, 0x40].map(isReceipt)).toEqual([
    false,
    true,
    false,
    false,
    true,
    true,
    false,
  ]);
});

test('reading survives any text', () => {
  fc.assert(fc.property(fc.string({ unit: 'binary', maxLength: 300 }), (text) => void parseReceipt(delivery(text))));
});

test('dates are UTC with seconds', () => {
  expect(receiptDate(Date.UTC(2026, 10, 20, 5, 19, 1, 999))).toBe('261120051901');
});
