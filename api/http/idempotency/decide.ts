// What a request does that finds a record under its idempotency key. Pure. The decision is only a proposal: a
// takeover counts when the bucket accepted it at the revision that was read, and never before.
import type { IdempotencyRecord } from './record.ts';

export type Decision =
  /** The first request ended well: answer the same. */
  | 'replay'
  /** Another request has this key. */
  | 'reused'
  /** The first request is being worked on by a live owner. */
  | 'in_progress'
  /** The record is this request's own: its write landed although nobody said so. */
  | 'mine'
  /** The owner is gone: go on in its place, with the same message id. */
  | 'takeover';

export function decideIdempotent(
  record: IdempotencyRecord,
  asking: { readonly bodyHash: string; readonly owner: string; readonly nowMs: number; readonly leaseMs: number },
): Decision {
  if (record.bodyHash !== asking.bodyHash) return 'reused';
  if (record.state === 'done') return 'replay';
  if (record.owner === asking.owner) return 'mine';
  const leftMs = record.leaseUntilMs - asking.nowMs;
  // More time left than a lease has: the clock was set back. Waiting would lock the key for hours, while taking
  // over is safe at any time, because the message id stays the same.
  return leftMs > 0 && leftMs <= asking.leaseMs ? 'in_progress' : 'takeover';
}
