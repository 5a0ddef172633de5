// The users of the embedded nats-server, one per role. Each authenticates with an nkey, by signing the server's
// challenge, so that a process that takes the server's port after a crash receives no password. Permissions:
// nats-permissions.ts.
import { createHmac } from 'node:crypto';
import { nkeys } from '@nats-io/transport-node';
import { natsRoles, permissionsOf, permissionsText } from './nats-permissions.ts';

/** `operator`: the supervisor and the command line, with all permissions. */
export const natsUsers = ['operator', ...natsRoles] as const;
export type NatsUser = (typeof natsUsers)[number];

/** The `authorization` block of the server's configuration. Only public keys. */
export function authorizationText(secret: string): string {
  const users = natsUsers.map((user) => {
    const key = nkeys.fromSeed(new TextEncoder().encode(userSeed(secret, user))).getPublicKey();
    return `    { nkey: ${key}${user === 'operator' ? '' : `, permissions: ${permissionsText(permissionsOf(user))}`} }`;
  });
  return `authorization {\n  users: [\n${users.join('\n')}\n  ]\n}`;
}

/** The private key of a user in NATS form (SU…). Other users' keys cannot be derived from it. */
export function userSeed(secret: string, user: NatsUser): string {
  const raw = createHmac('sha256', secret).update(`heliograph nats user ${user}`).digest();
  // Prefix of a user seed (18 << 3, 20 << 3), the key, CRC-16: github.com/nats-io/nkeys.
  const octets = Buffer.concat([Buffer.from([(18 << 3) | (20 >> 2), (20 << 6) & 0xff]), raw]);
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

function base32(octets: Uint8Array): string {
  const letters = 'ABCDEFGHIJKLMNOPQRSTUVWXYZ234567';
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
