// The subjects of the bus: built and taken apart here only. Tokens never contain dots, because carrier
// names are checked by the configuration (a–z, 0–9, hyphen).
import { type AccountId, shardOf } from '../../model/ids.ts';
import { type Category, type Lane, laneOf } from '../../model/message.ts';
import { limits } from '../../platform/limits.ts';

/** `mt.<lane>.<carrier>.<account shard>`: a message on its way to a carrier. */
export function messageSubject(category: Category, carrier: string, accountId: AccountId | string): string {
  return `mt.${laneOf[category]}.${carrier}.${shardOf(accountId, limits.bus.accountShards)}`;
}

/** All messages of one lane for one carrier. */
export function messageFilter(lane: Lane, carrier: string): string {
  return `mt.${lane}.${carrier}.>`;
}

/** `ev.<carrier>.<shard>`: batches of delivery events. A message's events all share one shard. */
export function eventSubject(carrier: string, shard: number): string {
  return `ev.${carrier}.${shard}`;
}

export function eventFilter(carrier: string): string {
  return `ev.${carrier}.>`;
}

/** `later.<due bucket>.<shard>`: what must wait until the bucket's time has come. */
export function laterSubject(dueAtMs: number, shardKey: string): string {
  return `later.${laterBucket(dueAtMs)}.${shardOf(shardKey, limits.bus.accountShards)}`;
}

export function laterBucket(dueAtMs: number): number {
  return Math.floor(dueAtMs / limits.bus.laterBucketMs);
}

export function laterFilter(bucket: number): string {
  return `later.${bucket}.>`;
}

export function deadSubject(stream: string): string {
  return `dead.${stream}`;
}
