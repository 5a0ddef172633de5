// Decides what a request does that finds an entry under its idempotency key. Pure. The decision is a proposal: a
// takeover counts only when the bucket accepted it over the entry that was read.
import type { IdempotencyEntry } from './entry.ts';

export type Decision =
  /** The first request ended well: answer the same. */
  | 'replay'
  /** Another request has this key. */
  | 'reused'
  /** The first request is being worked on by a live owner. */
  | 'in_progress'
  /** The owner is gone: go on in its place, with the same message id. */
  | 'takeover';

export function decideIdempotent(
  entry: IdempotencyEntry,
  asking: { readonly isSameBody: boolean; readonly nowMs: number; readonly leaseMs: number },
): Decision {
  if (!asking.isSameBody) return 'reused';
  if (entry.state === 'done') return 'replay';
  const leftMs = entry.leaseUntilMs - asking.nowMs;
  // More time left than a lease has: the clock was set back. Waiting would lock the key for hours, while taking
  // over is safe at any time, because the message id stays the same.
  return leftMs > 0 && leftMs <= asking.leaseMs ? 'in_progress' : 'takeover';
}
