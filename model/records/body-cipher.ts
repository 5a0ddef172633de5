// Encrypts stored bodies: AES-256-GCM with a random nonce for each body, bound to the message id, so that a body cannot
// be moved to another message. Layout: key id 4 | nonce 12 | tag 16 | ciphertext. A body key encrypts nothing itself: a
// key derived from it serves the ids of one period of time (decision 145).
import { createCipheriv, createDecipheriv, createHmac } from 'node:crypto';
import { assert } from '../../platform/assert.ts';
import { secretBytes } from '../../platform/random.ts';
import { bodyKeyId, bodyKeyIdOctets } from './body-keys.ts';

export type BodyCipher = {
  seal(plain: Uint8Array, boundTo: string): Buffer;
  /** Throws when the body was changed, belongs to another message, or was sealed with an unknown key. */
  open(sealed: Uint8Array, boundTo: string): Buffer;
};

/** For readers of records who do not look at their bodies: each opens as an empty text. */
export const unopened: BodyCipher = {
  seal: () => {
    throw new Error('nothing is sealed here');
  },
  open: () => Buffer.of(0),
};

const nonceOctets = 12;
const tagOctets = 16;
const keyOctets = 32;
const headOctets = bodyKeyIdOctets + nonceOctets + tagOctets;
/** `sms_` and the six characters of a ULID's time that change every 2^20 ms: ids of 17 minutes share a derived key. */
const stretchChars = 10;
/** Derived keys cached: a day of LATER at 17 minutes each is 82. */
const stretchesMax = 256;

/** Seals with the first key, opens with all of them. Each key has 32 octets. */
export function bodyCipher(key: Uint8Array | readonly Uint8Array[]): BodyCipher {
  const keys = (key instanceof Uint8Array ? [key] : key).map(derivedKeys);
  const [sealing] = keys;
  assert(sealing !== undefined, 'without a body key nothing can be sealed');
  const byId = new Map(keys.map((each) => [each.id.readUInt32BE(), each]));
  const nextNonce = nonces();
  return {
    seal(plain, boundTo) {
      const nonce = nextNonce();
      const cipher = createCipheriv('aes-256-gcm', sealing.keyFor(boundTo), nonce);
      cipher.setAAD(Buffer.from(boundTo, 'latin1'));
      const sealed = cipher.update(plain);
      cipher.final();
      return Buffer.concat([sealing.id, nonce, cipher.getAuthTag(), sealed]);
    },
    open(sealed, boundTo) {
      assert(sealed.length >= headOctets, 'a sealed body is at least a key id, a nonce and a tag long');
      const octets = Buffer.from(sealed.buffer, sealed.byteOffset, sealed.length);
      const opening = byId.get(octets.readUInt32BE());
      if (opening === undefined) throw unknownKey(octets.toString('hex', 0, bodyKeyIdOctets));
      const nonce = octets.subarray(bodyKeyIdOctets, bodyKeyIdOctets + nonceOctets);
      const decipher = createDecipheriv('aes-256-gcm', opening.keyFor(boundTo), nonce);
      decipher.setAAD(Buffer.from(boundTo, 'latin1'));
      decipher.setAuthTag(octets.subarray(bodyKeyIdOctets + nonceOctets, headOctets));
      const plain = decipher.update(octets.subarray(headOctets));
      // It checks the tag. GCM holds nothing back, so there is no rest.
      decipher.final();
      return plain;
    },
  };
}

const unknownKey = (id: string) => new Error(`sealed with the body key ${id}, which is not in HELIOGRAPH_BODY_KEY`);

type DerivedKeys = { readonly id: Buffer; keyFor(boundTo: string): Buffer };

/**
 * HKDF-Expand (RFC 5869, 2.3) of one block: the body key is uniformly random, so the extract step is omitted (3.3).
 * Derived keys are cached, because a derivation costs a third of a seal and consecutive ids use the same one.
 */
function derivedKeys(key: Uint8Array): DerivedKeys {
  assert(key.length === keyOctets, 'a body key must have 32 bytes (HELIOGRAPH_BODY_KEY, base64)');
  const kept = new Map<string, Buffer>();
  return {
    id: Buffer.from(bodyKeyId(key), 'hex'),
    keyFor(boundTo) {
      const stretch = boundTo.slice(0, stretchChars);
      const before = kept.get(stretch);
      if (before !== undefined) return before;
      const derived = createHmac('sha256', key).update(`heliograph body ${stretch}\u0001`).digest();
      if (kept.size === stretchesMax) for (const oldest of [...kept.keys()].slice(0, 1)) kept.delete(oldest);
      kept.set(stretch, derived);
      return derived;
    },
  };
}

function nonces(): () => Buffer {
  let octets = secretBytes(0);
  let at = 0;
  return () => {
    if (at === octets.length) {
      octets = secretBytes(nonceOctets * 256);
      at = 0;
    }
    at += nonceOctets;
    return octets.subarray(at - nonceOctets, at);
  };
}
