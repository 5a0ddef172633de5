// AES-128 against OpenSSL's.
import { createCipheriv } from 'node:crypto';
import { expect, test } from 'vitest';
import { aes128 } from '../../model/aes-block.ts';
import { secretBytes } from '../../platform/random.ts';

/** One block, octets in and out. */
function encrypted(key: Uint8Array, octets: Uint8Array): Buffer {
  const view = new DataView(octets.buffer, octets.byteOffset, 16);
  const words = Uint32Array.from({ length: 4 }, (_, at) => view.getUint32(at * 4, true));
  aes128(key)(words);
  const out = Buffer.alloc(16);
  for (const [at, word] of words.entries()) out.writeUInt32LE(word, at * 4);
  return out;
}

test('the example of FIPS 197, appendix B', () => {
  const key = Buffer.from('2b7e151628aed2a6abf7158809cf4f3c', 'hex');
  const block = Buffer.from('3243f6a8885a308d313198a2e0370734', 'hex');
  expect(encrypted(key, block).toString('hex')).toBe('3925841d02dc09fbdc118597196a0b32');
});

test('random blocks under random keys', () => {
  for (let nth = 0; nth < 500; nth += 1) {
    const [key, block] = [secretBytes(16), secretBytes(16)];
    const openssl = createCipheriv('aes-128-ecb', key, null).setAutoPadding(false);
    expect(encrypted(key, block).equals(openssl.update(block))).toBe(true);
  }
});

test('every octet in every place of a block', () => {
  const key = secretBytes(16);
  for (let at = 0; at < 16; at += 1) {
    for (let octet = 0; octet < 256; octet += 1) {
      const block = Buffer.alloc(16);
      block[at] = octet;
      const openssl = createCipheriv('aes-128-ecb', key, null).setAutoPadding(false);
      expect(encrypted(key, block).equals(openssl.update(block))).toBe(true);
    }
  }
});
