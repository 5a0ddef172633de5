// The key of the hashes of subscribers' numbers (model/number-hash.ts): created by the first process that needs it, the
// same on every machine, never shown. With another one no number is found in the history once its digits are cut off.
import { numberKeyOctets } from '../../model/number-hash.ts';
import { secretBytes } from '../../platform/random.ts';
import { readEntry, replace } from './bucket.ts';
import type { Bus } from './connect.ts';
import { openBucket } from './ensure.ts';

const entryName = 'number-key';

export async function numberKey(bus: Bus): Promise<Uint8Array> {
  const bucket = await openBucket(bus, 'installation');
  for (;;) {
    const { entry, revision } = await readEntry(bucket, entryName);
    if (entry !== null) return entry.value;
    await replace(bucket, entryName, secretBytes(numberKeyOctets), revision);
  }
}
