// Bodies are encrypted wherever they rest. AES-256-GCM with a fresh nonce for each body, bound to the
// message id, so that a body cannot be moved to another message. Layout: nonce 12 | tag 16 | ciphertext.
import { createCipheriv, createDecipheriv } from 'node:crypto';
import { assert } from '../../platform/assert.ts';
import { secretBytes } from '../../platform/random.ts';

export type BodyCipher = {
  seal(plain: Uint8Array, boundTo: string): Buffer;
  /** Throws when the body was changed, belongs to another message or was sealed with another key. */
  open(sealed: Uint8Array, boundTo: string): Buffer;
};

const nonceOctets = 12;
const tagOctets = 16;
const keyOctets = 32;

export function bodyCipher(key: Uint8Array): BodyCipher {
  assert(key.length === keyOctets, 'the body key must have 32 bytes (HELIOGRAPH_BODY_KEY, base64)');
  let nonces = secretBytes(0);
  let nonceAt = 0;
  const nextNonce = () => {
    if (nonceAt === nonces.length) {
      nonces = secretBytes(nonceOctets * 256);
      nonceAt = 0;
    }
    nonceAt += nonceOctets;
    return nonces.subarray(nonceAt - nonceOctets, nonceAt);
  };
  return {
    seal(plain, boundTo) {
      const nonce = nextNonce();
      const cipher = createCipheriv('aes-256-gcm', key, nonce);
      cipher.setAAD(Buffer.from(boundTo, 'latin1'));
      const sealed = cipher.update(plain);
      const rest = cipher.final();
      return Buffer.concat([nonce, cipher.getAuthTag(), sealed, rest]);
    },
    open(sealed, boundTo) {
      assert(sealed.length >= nonceOctets + tagOctets, 'a sealed body is at least a nonce and a tag long');
      const decipher = createDecipheriv('aes-256-gcm', key, sealed.subarray(0, nonceOctets));
      decipher.setAAD(Buffer.from(boundTo, 'latin1'));
      decipher.setAuthTag(sealed.subarray(nonceOctets, nonceOctets + tagOctets));
      const plain = decipher.update(sealed.subarray(nonceOctets + tagOctets));
      return Buffer.concat([plain, decipher.final()]);
    },
  };
}
