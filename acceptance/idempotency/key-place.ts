// Where an idempotency key is stored: its page and its hash. The hash is keyed with a secret of the installation,
// made by the first process that needs it and never shown, so that no client can search for keys that share a page or
// a hash.
import { createHmac } from 'node:crypto';
import { readEntry, replace } from '../../cluster/bus/bucket.ts';
import type { Bus } from '../../cluster/bus/connect.ts';
import { openBucket } from '../../cluster/bus/ensure.ts';
import { limits } from '../../platform/limits.ts';
import { secretBytes } from '../../platform/random.ts';

export type KeyPlace = {
  /** Which of the pages. */
  readonly page: string;
  /** 48 bits of the key's hash: distinguishes it from the other keys of its page. */
  readonly own: number;
  /** 128 bits of the key's hash, as latin1: distinguishes it from every other key. */
  readonly hash: string;
  /** The name of a record of its own, for an answer that is too long for the page. */
  readonly answer: string;
};

export type KeyPlaces = (accountId: string, livemode: boolean, operation: string, idempotencyKey: string) => KeyPlace;

const hashOctets = 16;
const ownOctets = 6;
const entryName = 'idempotency-secret';
const secretOctets = 32;

/** Clients put anything into their keys, also people's numbers: only a hash is kept. */
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
 * The secret of this installation. It is as old as the bucket of the pages: with another one no key would be found
 * again.
 */
export async function placingSecret(bus: Bus, replicas = 1): Promise<Uint8Array> {
  const bucket = await openBucket(bus, 'installation', replicas);
  for (;;) {
    const { entry, revision } = await readEntry(bucket, entryName);
    if (entry !== null) return entry.value;
    await replace(bucket, entryName, secretBytes(secretOctets), revision);
  }
}
