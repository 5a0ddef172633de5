// The bucket `erasures`: each erasure of a subscriber's number, by its keyed hash, as a job that the control role carries
// out and that stays when it is done, so that a part of the system that was restored from a backup carries it out again.
import { newErasureId } from '../../model/ids.ts';
import type { NumberMark } from '../../model/number-hash.ts';
import { jsonObjectIn } from '../../platform/json.ts';
import { limits } from '../../platform/limits.ts';
import { create, merge } from './bucket.ts';
import type { Bus } from './connect.ts';
import { openBucket } from './ensure.ts';
import { readEntries } from './read-present.ts';
import type { FileRewrite } from './rewrite-file.ts';

/** How many of each kind were removed or looked at. */
export type Counts = Readonly<Record<string, number>>;

export type Erasure = NumberMark & {
  readonly id: string;
  /** Null: of every account. */
  readonly accountId: string | null;
  /** What was accepted until then is erased. */
  readonly atMs: number;
  readonly by: { readonly name: string; readonly from: string };
};

/** What an operator gets of it. It holds nothing by which a person could be found. */
export type Receipt = {
  readonly finishedAtMs: number;
  readonly lookedAt: Counts;
  readonly removed: Counts;
  /** What was left: messages in flight, which end by themselves, and records that this version cannot read. */
  readonly left: Counts;
  /** Of WEBHOOK_LOG, whose delivered records are deleted without being overwritten. Receipts of former versions have none. */
  readonly webhookFile?: FileRewrite;
};

/** `receipt` null: to be carried out, or carried out again. */
export type ErasureJob = Erasure & { readonly receipt: Receipt | null };

const version = 1;

export function encodeErasure(job: ErasureJob): string {
  return JSON.stringify({ v: version, ...job });
}

/** Null for what this version cannot read. */
export function decodeErasure(octets: Uint8Array): ErasureJob | null {
  const value = jsonObjectIn(octets);
  if (value === null || value['v'] !== version || typeof value['id'] !== 'string') return null;
  const { v: _, ...job } = value;
  return job as unknown as ErasureJob;
}

export async function erasureJobs(bus: Bus): Promise<readonly ErasureJob[]> {
  await openBucket(bus, 'erasures');
  const jobs: ErasureJob[] = [];
  const bounds = { recordsMax: limits.erasure.keptMax, withinMs: limits.operations.callTimeoutMs };
  await readEntries(bus, 'erasures', '>', bounds, ({ body }) => {
    const job = decodeErasure(body);
    if (job !== null) jobs.push(job);
  });
  return jobs.toSorted((one, other) => (one.id < other.id ? -1 : 1));
}

export async function readErasure(bus: Bus, id: string): Promise<ErasureJob | null> {
  const entry = await (await openBucket(bus, 'erasures')).get(id);
  return entry?.operation === 'PUT' ? decodeErasure(entry.value) : null;
}

/** Has it carried out. Nothing changes when it is there already. */
export async function orderErasure(bus: Bus, erasure: Erasure): Promise<void> {
  await create(await openBucket(bus, 'erasures'), erasure.id, encodeErasure({ ...erasure, receipt: null }));
}

/** Replaces its receipt; null: to be carried out again. */
export async function setReceipt(bus: Bus, id: string, receipt: Receipt | null): Promise<void> {
  await merge(await openBucket(bus, 'erasures'), id, (entry) => {
    const held = entry === null ? null : decodeErasure(entry.value);
    return held === null ? null : encodeErasure({ ...held, receipt });
  });
}

export const newErasure = (nowMs: number, of: Omit<Erasure, 'id'>): Erasure => ({ id: newErasureId(nowMs), ...of });
