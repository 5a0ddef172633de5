// Which database fills the directory on this NATS: the first one, until an operator releases it. Two databases would
// each remove the other's accounts and keys and lock both sets of clients out. The projector checks this first; entry
// points and carriers do not need it.
import { hostname } from 'node:os';
import { type KV, Kvm } from '@nats-io/kv';
import { SetupError, ignoring } from '../../platform/errors.ts';
import type { Bus } from '../../cluster/bus/connect.ts';
import { isApiError, streamNotFound } from '../../cluster/bus/api-errors.ts';
import { create, readEntry } from '../../cluster/bus/bucket.ts';
import type { KeyValueBucket } from '../../cluster/bus/streams.ts';
import { installationId, type Store } from '../store/store.ts';
import type { BusCalls } from '../../directory/bus-calls.ts';

export type DirectoryOwner = {
  readonly v: 1;
  /** The database's own name, as `installationId` has it. */
  readonly database: string;
  /** When and on which machine it became the owner, for display. */
  readonly sinceMs: number;
  readonly host: string;
};

/** Another database owns the directory: an operator must decide which of the two is right. */
export class OwnedByAnother extends SetupError {
  constructor(owner: DirectoryOwner, ours: string) {
    super(
      `The directory on this NATS is made from another PostgreSQL (database ${owner.database}, ${sinceOf(owner)}; ours is ${ours}): ` +
        'set DATABASE_URL to that one, or leave the role control out here (--roles ingress,carriers,analytics). ' +
        'If that database is gone for good: heliograph directory release',
    );
    this.name = 'OwnedByAnother';
  }
}

/** Stored in the bucket itself: a bucket that was lost belongs to the next database that fills it. */
const ownerEntryName = 'meta.database';

/** Makes the store's database the owner of a directory without one. Throws OwnedByAnother when another database is. */
export async function claimDirectory(store: Store, calls: BusCalls, bucket: KV): Promise<void> {
  const ours = await installationId(store);
  const asked = () => calls.call("asking for the directory's owner", ownerIn(bucket));
  let owner = await asked();
  if (owner === null) {
    const us: DirectoryOwner = { v: 1, database: ours, sinceMs: store.clock.nowMs(), host: hostname() };
    const taken = await calls.call('taking the directory', create(bucket, ownerEntryName, JSON.stringify(us)));
    if (taken !== 'conflict') return;
    owner = await asked();
  }
  if (owner === null) throw new Error('another database took the directory and released it again');
  if (owner.database !== ours) throw new OwnedByAnother(owner, ours);
}

/** The owner, or null. Creates nothing. */
export async function directoryOwner(bus: Bus): Promise<DirectoryOwner | null> {
  try {
    const bucket = await new Kvm(bus.jetstream).open('directory' satisfies KeyValueBucket);
    return await ownerIn(bucket);
  } catch (error) {
    if (!isApiError(error, streamNotFound)) throw error;
    ignoring(error, 'there is no directory on this NATS yet');
    return null;
  }
}

/** Removes the owner, so that the next database becomes it. Returns the previous owner, or null. */
export async function releaseDirectory(bus: Bus): Promise<DirectoryOwner | null> {
  const owner = await directoryOwner(bus);
  if (owner === null) return null;
  const bucket = await new Kvm(bus.jetstream).open('directory' satisfies KeyValueBucket);
  await bucket.delete(ownerEntryName);
  return owner;
}

export function sinceOf({ sinceMs, host }: DirectoryOwner): string {
  return `since ${new Date(sinceMs).toISOString()}, first by ${host}`;
}

async function ownerIn(bucket: KV): Promise<DirectoryOwner | null> {
  return (await readEntry(bucket, ownerEntryName)).entry?.json<DirectoryOwner>() ?? null;
}
