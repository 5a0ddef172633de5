// The users of the embedded nats-server, one for each role. Each proves itself with a key of its own (an nkey): it signs
// what the server asks, so whoever takes the server's port after a crash is not given a password. What a role never
// writes its user may not write; decision 147 says why these are lists of what is forbidden.
import { createHmac } from 'node:crypto';
import { nkeys } from '@nats-io/transport-node';
import { streamNames, streamOfBucket } from '../bus/streams.ts';

/** `operator`: the supervisor and the command line, who may everything. */
export const natsUsers = ['operator', 'ingress', 'actors', 'control', 'analytics'] as const;
export type NatsUser = (typeof natsUsers)[number];

const bucket = (...names: readonly string[]) => names.map((name) => `$KV.${name}.>`);
const noRemoval = (...streams: readonly string[]) =>
  streams.flatMap((name) => [`$JS.API.STREAM.PURGE.${name}`, `$JS.API.STREAM.MSG.DELETE.${name}`]);

/** No role takes a stream away, puts another in its place or imports a registry. */
const noRole = [
  '$JS.API.STREAM.DELETE.>',
  '$JS.API.STREAM.SNAPSHOT.>',
  '$JS.API.STREAM.RESTORE.>',
  ...bucket('registry'),
];
const queues = Object.values(streamNames.messages);
const { events, inbound, orders, dead } = streamNames;
const tenants = [streamOfBucket('directory'), streamOfBucket('suppression')];

/** Subjects a user may not publish to. */
export const forbiddenSubjects: Readonly<Record<NatsUser, readonly string[]>> = {
  operator: [],
  // Faces strangers: it takes messages in and touches nothing that is decided elsewhere.
  ingress: [
    ...noRole,
    ...['mo.>', 'ops.>', 'dead.>'],
    ...bucket('directory', 'suppression', 'leases', 'recorder', 'inbound'),
    ...noRemoval(...queues, events, inbound, orders, dead, ...tenants, streamOfBucket('leases')),
  ],
  // Talks to carriers: no accounts, keys, orders or stored answers.
  actors: [
    ...noRole,
    'ops.>',
    ...bucket('directory', 'idempotency', 'recorder'),
    ...noRemoval(events, orders, dead, tenants[0] ?? ''),
  ],
  // Keeps accounts: sends nothing.
  control: [
    ...noRole,
    ...['mt.>', 'cancel.>'],
    ...bucket('leases', 'recorder', 'inbound'),
    ...noRemoval(...queues, events, dead),
  ],
  // Reads events and removes those it has.
  analytics: [
    ...noRole,
    ...['mt.>', 'later.>', 'cancel.>', 'mo.>', 'ops.>'],
    ...bucket('directory', 'suppression', 'idempotency', 'leases', 'inbound'),
    ...noRemoval(...queues, inbound, orders, dead, ...tenants),
  ],
};

/** The `authorization` block of the server's configuration. It holds public keys only. */
export function authorizationText(secret: string): string {
  const users = natsUsers.map((user) => {
    const key = nkeys.fromSeed(new TextEncoder().encode(userSeed(secret, user))).getPublicKey();
    const deny = forbiddenSubjects[user].map((subject) => JSON.stringify(subject)).join(', ');
    return `    { nkey: ${key}, permissions: { publish: { deny: [${deny}] } } }`;
  });
  return `authorization {\n  users: [\n${users.join('\n')}\n  ]\n}`;
}

/** The private key of a user, as NATS writes it (SU…). Who has one cannot make another one of it. */
export function userSeed(secret: string, user: NatsUser): string {
  const raw = createHmac('sha256', secret).update(`heliograph nats user ${user}`).digest();
  // Prefix "seed of a user" (18 << 3, 20 << 3), the key, CRC-16: github.com/nats-io/nkeys.
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
