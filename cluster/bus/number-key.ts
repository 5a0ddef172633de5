// The key of the hashes of subscribers' numbers (model/number-hash.ts). With another one no number is found in the history
// once its digits are cut off.
import { numberKeyOctets } from '../../model/number-hash.ts';
import type { Bus } from './connect.ts';
import { installationSecret } from './installation-secret.ts';

export const numberKey = (bus: Bus): Promise<Uint8Array> => installationSecret(bus, 'number-key', numberKeyOctets);
