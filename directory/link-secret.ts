// The secret of the codes of short links. With another secret no code that was sent would lead anywhere. It also keys the
// hashes of addresses, which change every day.
import { hash } from 'node:crypto';
import type { Bus } from '../cluster/bus/connect.ts';
import { installationSecret } from '../cluster/bus/installation-secret.ts';
import { linkSecretOctets } from '../model/link-code.ts';

export const linkSecret = (bus: Bus): Promise<Uint8Array> => installationSecret(bus, 'link-secret', linkSecretOctets);

const dayMs = 86_400_000;
const hashChars = 12;

/**
 * 72 bits of SHA-256 over the secret, the day and an address: the same address has the same hash for a day. Nobody is shown
 * a whole hash, from which others could be extended, so HMAC, an object of the library for each click, would add nothing.
 */
export function addressHasher(secret: Uint8Array): (address: string, nowMs: number) => string {
  const key = Buffer.from(secret).toString('hex');
  return (address, nowMs) =>
    hash('sha256', `${key} address ${Math.floor(nowMs / dayMs)} ${address}`, 'base64url').slice(0, hashChars);
}
