// The slots of one listening thread that accounts share (platform/limits-shares.ts), and the refusal when none is free:
// 429 for an account that uses its whole share, 503 when all slots are in use.
import { refusalOfTaken } from '../../acceptance/refusal.ts';
import type { BoundName, Shares } from '../../platform/limits-shares.ts';
import { SharedBound, type Taken } from '../../platform/shared-bound.ts';
import { type Problem, problemOf } from '../problem.ts';

export type Places = ReturnType<typeof placesOf>;

export function placesOf(shares: Shares) {
  const of = (name: BoundName) => new SharedBound(name, shares[name]);
  return {
    bodies: of('bodies_received'),
    requests: of('requests_at_work'),
    batches: of('batches_at_work'),
    publishes: of('publish_slots'),
    forwards: of('requests_forwarded'),
    pages: of('pages_read'),
    queries: of('status_queries'),
    lists: of('list_queries'),
    clicks: of('clicks_held'),
  } as const;
}

/** Null when a slot was taken. */
export function refuseTaken(bound: SharedBound, taken: Taken): Problem | null {
  const refused = refusalOfTaken(bound, taken);
  return refused === null ? null : problemOf(refused);
}
