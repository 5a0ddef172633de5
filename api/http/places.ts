// The slots of one listening thread that accounts share (platform/limits-shares.ts), and the refusal where none is
// free: 429 for an account at its own share, 503 where all are in use.
import { refusalOfTaken } from '../../acceptance/refusal.ts';
import { type Shares } from '../../platform/limits-shares.ts';
import { SharedBound, type Taken } from '../../platform/shared-bound.ts';
import { type Problem, problemOf } from '../problem.ts';

export type Places = {
  readonly bodies: SharedBound;
  readonly requests: SharedBound;
  readonly batches: SharedBound;
  readonly publishes: SharedBound;
  readonly forwards: SharedBound;
  readonly pages: SharedBound;
  readonly queries: SharedBound;
};

export function placesOf(shares: Shares): Places {
  return {
    bodies: new SharedBound('bodies_received', shares.bodies_received),
    requests: new SharedBound('requests_at_work', shares.requests_at_work),
    batches: new SharedBound('batches_at_work', shares.batches_at_work),
    publishes: new SharedBound('publish_slots', shares.publish_slots),
    forwards: new SharedBound('requests_forwarded', shares.requests_forwarded),
    pages: new SharedBound('pages_read', shares.pages_read),
    queries: new SharedBound('status_queries', shares.status_queries),
  };
}

/** Null when a place was taken. */
export function refuseTaken(bound: SharedBound, taken: Taken): Problem | null {
  const refused = refusalOfTaken(bound, taken);
  return refused === null ? null : problemOf(refused);
}
