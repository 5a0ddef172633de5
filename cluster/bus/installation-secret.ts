// Secrets of the installation: each is created by the first process that needs it, is the same on every machine, and is
// never shown.
import { secretBytes } from '../../platform/random.ts';
import { readEntry, replace } from './bucket.ts';
import type { Bus } from './connect.ts';
import { openBucket } from './ensure.ts';
import { numberKeyOctets } from '../../model/number-hash.ts';

export async function installationSecret(bus: Bus, name: string, octets: number): Promise<Uint8Array> {
  const bucket = await openBucket(bus, 'installation');
  for (;;) {
    const { entry, revision } = await readEntry(bucket, name);
    if (entry !== null) return entry.value;
    await replace(bucket, name, secretBytes(octets), revision);
  }
}

/**
 * The key of the hashes of subscribers' numbers (model/number-hash.ts). With another one no number is found in the history
 * once its digits are cut off.
 */
export const numberKey = (bus: Bus): Promise<Uint8Array> => installationSecret(bus, 'number-key', numberKeyOctets);
