// The keys of NATS users: the text form of a seed and of its public key, and the answer to a server's challenge. Node's
// own Ed25519 computes them: that of the NATS client is JavaScript, which every process would have to compile and run at
// its start. Never logs a seed.
import { type KeyObject, createPrivateKey, createPublicKey, sign } from 'node:crypto';
import type { Authenticator } from '@nats-io/transport-node';

/** The first octet of what is encoded: the kind of the key. A seed's is spread over two octets, with that of a user. */
const userPrefix = 20 << 3;
const seedPrefix = [(18 << 3) | (userPrefix >> 5), (userPrefix << 3) & 0xff] as const;
/** Two octets of prefix, 32 of the key and two of the checksum, five bits a letter. */
const seedLetters = 58;
/** PKCS 8 (RFC 8410) before the 32 octets of an Ed25519 private key. */
const pkcs8Head = Buffer.from('302e020100300506032b657004220420', 'hex');

/** The seed of a user in NATS form (SU…), of 32 octets. */
export function userSeedOf(raw: Uint8Array): string {
  return encoded(Buffer.concat([Buffer.from(seedPrefix), raw]));
}

/** The public key (U…) that belongs to a user's seed. */
export function publicKeyOf(seed: string): string {
  return publicKeyOfPrivate(privateKeyOf(seed));
}

/** Signs the challenge of each server that this connection meets. Throws when it is no seed of a user. */
export function seedAuthenticator(seed: string): Authenticator {
  const key = privateKeyOf(seed);
  const nkey = publicKeyOfPrivate(key);
  return (challenge = '') => ({
    nkey,
    sig: challenge === '' ? '' : sign(null, Buffer.from(challenge), key).toString('base64'),
  });
}

function privateKeyOf(seed: string): KeyObject {
  const octets = decodedBase32(seed);
  const [checked, sum] = [octets.subarray(0, -2), octets.subarray(-2)];
  const isSeed = seed.length === seedLetters && seedPrefix.every((octet, at) => checked[at] === octet);
  if (!isSeed || sum.readUInt16LE() !== crc16(checked)) throw new Error('this is not the nkey seed of a user (SU…)');
  return createPrivateKey({ key: Buffer.concat([pkcs8Head, checked.subarray(2)]), format: 'der', type: 'pkcs8' });
}

function publicKeyOfPrivate(key: KeyObject): string {
  const { x = '' } = createPublicKey(key).export({ format: 'jwk' });
  return encoded(Buffer.concat([Buffer.from([userPrefix]), Buffer.from(x, 'base64url')]));
}

/** With the checksum that every text form ends with: github.com/nats-io/nkeys. */
function encoded(octets: Uint8Array): string {
  const sum = Buffer.alloc(2);
  sum.writeUInt16LE(crc16(octets));
  return base32(Buffer.concat([octets, sum]));
}

function crc16(octets: Uint8Array): number {
  let crc = 0;
  for (const octet of octets) {
    crc ^= octet << 8;
    for (let bit = 0; bit < 8; bit += 1) crc = ((crc & 0x8000) === 0 ? crc << 1 : (crc << 1) ^ 0x1021) & 0xffff;
  }
  return crc;
}

const letters = 'ABCDEFGHIJKLMNOPQRSTUVWXYZ234567';

function base32(octets: Uint8Array): string {
  let text = '';
  let held = 0;
  let bits = 0;
  for (const octet of octets) {
    held = (held << 8) | octet;
    for (bits += 8; bits >= 5; bits -= 5) text += letters[(held >> (bits - 5)) & 31];
    held &= 0xff;
  }
  return bits === 0 ? text : text + letters[(held << (5 - bits)) & 31];
}

/** Bits beyond the last whole octet are dropped. */
function decodedBase32(text: string): Buffer {
  const octets: number[] = [];
  let held = 0;
  let bits = 0;
  for (const letter of text) {
    held = ((held << 5) | letters.indexOf(letter)) & 0xfff;
    bits += 5;
    if (bits < 8) continue;
    bits -= 8;
    octets.push((held >> bits) & 0xff);
  }
  return Buffer.from(octets);
}
