// Values of vendor TLVs by type, both sides of each limit.
import { expect, test } from 'vitest';
import { tlvOf, type TlvValueType } from '../../smpp/tlv-value.ts';

test.each<[TlvValueType, string, string | undefined]>([
  ['string', 'PE 1', '50452031'],
  ['string', '', ''],
  ['string', 'x'.repeat(255), '78'.repeat(255)],
  ['string', 'x'.repeat(256), undefined],
  ['string', 'é', undefined],
  ['string', 'a\0b', undefined],
  ['cstring', 'PE', '504500'],
  ['int8', '0', '00'],
  ['int8', '255', 'ff'],
  ['int8', '256', undefined],
  ['int8', '-1', undefined],
  ['int8', '1.5', undefined],
  ['int8', '', undefined],
  ['int16', '0x0102', '0102'],
  ['int16', '65536', undefined],
  ['int32', '4294967295', 'ffffffff'],
  ['int32', '4294967296', undefined],
  ['hex', 'C0ffee', 'c0ffee'],
  ['hex', 'c0f', undefined],
  ['hex', 'xy', undefined],
])('%s of %j is %j', (type, text, hex) => {
  expect(tlvOf(0x1400, type, text)?.value.toString('hex')).toBe(hex);
});
