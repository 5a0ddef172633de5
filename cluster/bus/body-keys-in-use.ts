// Which body keys the records on this NATS are sealed with. Every process that seals or opens bodies checks it at its
// start: without one of the keys it would move its share of the messages to DEAD.
import { hostname } from 'node:os';
import { assert } from '../../platform/assert.ts';
import { type BodyKeys, bodyKeyId } from '../../model/records/body-keys.ts';
import { BadConfiguration } from '../../config/bad-configuration.ts';
import { merge } from './bucket.ts';
import type { Bus } from './connect.ts';
import { openBucket } from './ensure.ts';

export type BodyKeysInUse = {
  readonly v: 1;
  /** The id of the key that seals now, as set by the last machine that started. */
  readonly sealing: string;
  /** Every key that a record may still be sealed with, and the machine that brought it. */
  readonly ids: Readonly<Record<string, string>>;
};

const entryName = 'body-keys';

/** Adds our keys to those in use. Throws BadConfiguration when a key in use is neither ours nor declared gone. */
export async function claimBodyKeys(bus: Bus, ours: BodyKeys, replicas = 1): Promise<void> {
  const bucket = await openBucket(bus, 'installation', replicas);
  await merge(bucket, entryName, (entry) => {
    const next = decideKeysInUse(entry?.json<BodyKeysInUse>() ?? null, ours, hostname());
    if ('missing' in next) throw new BadConfiguration([refusalOf(next.missing, ours)]);
    return next.unchanged ? null : JSON.stringify(next.inUse);
  });
}

type Decision =
  | { readonly missing: readonly string[] }
  | { readonly unchanged: boolean; readonly inUse: BodyKeysInUse };

/** Pure: the keys in use after a start with `ours`. */
export function decideKeysInUse(before: BodyKeysInUse | null, { keys, gone }: BodyKeys, host: string): Decision {
  const own = keys.map(bodyKeyId);
  const [sealing] = own;
  assert(sealing !== undefined, 'a machine has at least one body key');
  const known = Object.entries(before?.ids ?? {}).filter(([id]) => !gone.includes(id) || own.includes(id));
  const missing = known.map(([id]) => id).filter((id) => !own.includes(id));
  if (missing.length > 0) return { missing };
  // Only a key that has sealed counts: one added for later use may be removed again.
  const ids = Object.fromEntries(known.some(([id]) => id === sealing) ? known : [...known, [sealing, host]]);
  const unchanged = before?.sealing === sealing && Object.keys(before.ids).length === known.length;
  return { unchanged, inUse: { v: 1, sealing, ids } };
}

function refusalOf(missing: readonly string[], { keys }: BodyKeys): string {
  const [theirs, those] = missing.length === 1 ? ['key', 'that key'] : ['keys', 'those keys'];
  return (
    `HELIOGRAPH_BODY_KEY: messages on this NATS are sealed with the body ${theirs} ${missing.join(', ')}, which this machine does not have ` +
    `(it has ${keys.map(bodyKeyId).join(', ')}): give it the same keys as the other machines, or bring back secrets/body-key of the ` +
    `data folder. If nobody has ${those} any more add ${missing.map((id) => `gone:${id}`).join(',')}: messages sealed with them go to DEAD`
  );
}
