// Where an idempotency key is stored (page and hash), and the fingerprint that compares the bodies of repeats. The hash
// is keyed with a secret of the installation, created by the first process that needs it and never shown, so that no
// client can construct keys that share a page or a hash. The fingerprint is keyed with the body key: a body may hold a
// one-time password, which a plain hash would reveal within a million tries.
import { createHmac, hkdfSync } from 'node:crypto';
import type { Bus } from '../../cluster/bus/connect.ts';
import { installationSecret } from '../../cluster/bus/installation-secret.ts';
import { limits } from '../../platform/limits.ts';
import { assert } from '../../platform/assert.ts';
import { printOctets } from './entry.ts';

export type KeyPlace = {
  readonly page: string;
  /** 48 bits of the key's hash: distinguishes the keys of one page. */
  readonly own: number;
  /** 128 bits of the key's hash, as latin1: distinguishes all keys. */
  readonly hash: string;
  /** The name of the separate record for an answer that is too long for the page. */
  readonly answer: string;
};

export type KeyPlaces = (accountId: string, livemode: boolean, operation: string, idempotencyKey: string) => KeyPlace;

const hashOctets = 16;
const ownOctets = 6;
const secretOctets = 32;

/** Stores only a hash: clients put anything into their keys, phone numbers too. */
export function keyPlaces(secret: Uint8Array): KeyPlaces {
  return (accountId, livemode, operation, idempotencyKey) => {
    const text = `${accountId}\n${livemode ? 'live' : 'test'}\n${operation}\n${idempotencyKey}`;
    const digest = createHmac('sha256', secret).update(text).digest();
    const number = digest.readUInt32BE(hashOctets) % limits.idempotency.pages;
    const hash = digest.subarray(0, hashOctets);
    return {
      page: number.toString(36),
      own: digest.readUIntBE(0, ownOctets),
      hash: hash.toString('latin1'),
      answer: `a.${hash.toString('base64url')}`,
    };
  };
}

/**
 * The secret of this installation. It is kept as long as the bucket of the pages: with another secret no
 * stored key would be found.
 */
export const placingSecret = (bus: Bus): Promise<Uint8Array> =>
  installationSecret(bus, 'idempotency-secret', secretOctets);

/**
 * 40 bits of HMAC-SHA-256 over a body, with the key in use and with those it replaced. Without the HMAC key a
 * collision cannot be constructed; by chance, of 10^12 idempotency keys reused with another body one is not noticed.
 */
export type BodyPrints = readonly [own: Buffer, ...former: Buffer[]];
export type BodyPrinter = (body: Uint8Array) => BodyPrints;

const label = 'heliograph idempotency body print';

/** `bodyKeys`: the one in use first, then those it replaced: entries made with them remain for a day. */
export function bodyPrinter(bodyKeys: readonly Uint8Array[]): BodyPrinter {
  const [first, ...former] = bodyKeys.map((key) => Buffer.from(hkdfSync('sha256', key, '', label, 32)));
  assert(first !== undefined, 'there is a body key');
  const printOf = (key: Buffer, body: Uint8Array) =>
    createHmac('sha256', key).update(body).digest().subarray(0, printOctets);
  return (body) => [printOf(first, body), ...former.map((key) => printOf(key, body))];
}
