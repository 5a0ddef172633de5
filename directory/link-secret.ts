// The secret of the codes of short links. With another secret no code that was sent would lead anywhere. It also keys the
// hashes of addresses, which change every day.
import { createHmac } from 'node:crypto';
import type { Bus } from '../cluster/bus/connect.ts';
import { installationSecret } from '../cluster/bus/installation-secret.ts';
import { linkSecretOctets } from '../model/link-code.ts';

export const linkSecret = (bus: Bus): Promise<Uint8Array> => installationSecret(bus, 'link-secret', linkSecretOctets);

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
