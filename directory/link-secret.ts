// The secret of the codes of short links: created by the first process that needs it, never shown. With another secret
// no code that was sent would lead anywhere. It also keys the hashes of addresses, which change every day.
import { createHmac } from 'node:crypto';
import { readEntry, replace } from '../cluster/bus/bucket.ts';
import type { Bus } from '../cluster/bus/connect.ts';
import { openBucket } from '../cluster/bus/ensure.ts';
import { linkSecretOctets } from '../model/link-code.ts';
import { secretBytes } from '../platform/random.ts';

const entryName = 'link-secret';

export async function linkSecret(bus: Bus): Promise<Uint8Array> {
  const bucket = await openBucket(bus, 'installation');
  for (;;) {
    const { entry, revision } = await readEntry(bucket, entryName);
    if (entry !== null) return entry.value;
    await replace(bucket, entryName, secretBytes(linkSecretOctets), revision);
  }
}

const dayMs = 86_400_000;
const hashChars = 12;

/** 72 bits of HMAC-SHA-256 over the day and an address: the same address has the same hash for a day. */
export function addressHasher(secret: Uint8Array): (address: string, nowMs: number) => string {
  return (address, nowMs) =>
    createHmac('sha256', secret)
      .update(`address ${Math.floor(nowMs / dayMs)} ${address}`)
      .digest('base64url')
      .slice(0, hashChars);
}
