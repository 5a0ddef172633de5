// The fingerprint of a request's body, to see whether a repeat has the same. It is a keyed hash: a body holds a
// one-time password, and with a plain hash whoever reads the bucket could find it in a million tries.
import { createHmac, hkdfSync } from 'node:crypto';
import { assert } from '../../platform/assert.ts';
import { printOctets } from './entry.ts';

/**
 * 40 bits of HMAC-SHA-256 over a body's octets: with the key in use, then with those it replaced. Nobody without the
 * key can look for two bodies with the same one, so of a million million keys that are used again with another body one
 * is not noticed.
 */
export type BodyPrints = readonly [own: Buffer, ...former: Buffer[]];
export type BodyPrinter = (body: Uint8Array) => BodyPrints;

const label = 'heliograph idempotency body print';

/** `bodyKeys`: the one in use first, then those it replaced, whose entries are still there for a day. */
export function bodyPrinter(bodyKeys: readonly Uint8Array[]): BodyPrinter {
  const [first, ...former] = bodyKeys.map((key) => Buffer.from(hkdfSync('sha256', key, '', label, 32)));
  assert(first !== undefined, 'there is a body key');
  const printOf = (key: Buffer, body: Uint8Array) =>
    createHmac('sha256', key).update(body).digest().subarray(0, printOctets);
  return (body) => [printOf(first, body), ...former.map((key) => printOf(key, body))];
}
