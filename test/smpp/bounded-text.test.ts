// What a peer can make us store: names and words of bounded length, and no two names the same.
import fc from 'fast-check';
import { expect, test } from 'vitest';
import { canonical } from '../../model/carrier-message-id.ts';
import { limits } from '../../platform/limits.ts';
import { boundedName, boundedWords } from '../../smpp/bounded-text.ts';
import { nameOfStatus, statusLabel } from '../../model/command-status.ts';
import { tlvTag } from '../../smpp/pdu.ts';
import { parseReceipt } from '../../smpp/receipt.ts';

const { textCharsMax } = limits.smpp;

test('a name within the bound is unchanged, a longer one fits and equals no other name', () => {
  const name = fc.tuple(fc.integer({ min: 0, max: 9_000 }), fc.nat().map(String));
  fc.assert(
    fc.property(name, name, ([length, end], [otherLength, otherEnd]) => {
      const [one, other] = ['7'.repeat(length) + end, '7'.repeat(otherLength) + otherEnd];
      if (one.length <= textCharsMax) expect(boundedName(one)).toBe(one);
      expect(boundedName(one).length).toBeLessThanOrEqual(textCharsMax);
      expect(canonical(boundedName(one)) === canonical(boundedName(other))).toBe(canonical(one) === canonical(other));
      expect(boundedName(boundedName(one))).toBe(boundedName(one));
    }),
  );
});

test('words are truncated at the bound', () => {
  expect(boundedWords('e'.repeat(textCharsMax))).toHaveLength(textCharsMax);
  expect(boundedWords('e'.repeat(textCharsMax + 1))).toHaveLength(textCharsMax);
});

test('a receipt with 16 KB of everything is parsed, and what is stored of it is bounded', () => {
  const id = `${'9'.repeat(8_000)}1`;
  const text = `id:${id} stat:DELIVRD err:${'e'.repeat(8_000)}`;
  const pdu = {
    command: 'deliver_sm',
    status: 0,
    sequence: 1,
    sourceTon: 1,
    sourceNpi: 1,
    source: '8801712345678',
    destinationTon: 5,
    destinationNpi: 0,
    destination: 'HELIOGRAPH',
    esmClass: 4,
    registeredDelivery: 0,
    dataCoding: 0,
  } as const;
  const ofText = parseReceipt({ ...pdu, octets: Buffer.from(text) });
  const tlvs = [{ tag: tlvTag.receiptedMessageId, value: Buffer.from(`${id}\0`) }];
  const ofTlv = parseReceipt({ ...pdu, octets: Buffer.alloc(0), tlvs });
  expect(ofText).toMatchObject({ receipt: { carrierMessageId: boundedName(id), errorCode: 'e'.repeat(textCharsMax) } });
  expect(ofTlv).toMatchObject({ receipt: { carrierMessageId: boundedName(id) } });
});

test('statuses that SMPP does not name share one label, and keep their number where the message is published', () => {
  expect(statusLabel(0x58)).toBe('ESME_RTHROTTLED');
  const labels = Array.from({ length: 0x500 }, (_, status) => statusLabel(0x400 + status));
  expect(new Set(labels)).toEqual(new Set(['unnamed']));
  expect(nameOfStatus(0x401)).toBe('0x00000401');
});
