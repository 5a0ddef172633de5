// The accounts that flood a lane of a carrier, as heartbeats: actors publish, entry points subscribe. An entry point
// publishes the messages of such an account directly to its overflow shard, and refuses what exceeds its queue. A lost
// heartbeat does no harm: the actor moves records to the overflow shard itself.
import { type Lane, type Category, laneOf } from '../../model/message.ts';
import { type Cancel, type Clock, systemClock } from '../../platform/clock.ts';
import { limits } from '../../platform/limits.ts';
import type { Bus } from './connect.ts';
import { type Heartbeat, LastHeartbeats, heartbeatSubject } from './heartbeat.ts';
import { overflowSubject, messageSubject } from './subjects.ts';

export type OverflowHeartbeat = Heartbeat & {
  /** By lane: accounts whose new messages go to overflow; true: their queue is full too. */
  readonly lanes: Partial<Readonly<Record<Lane, Readonly<Record<string, boolean>>>>>;
};

export const overflowHeartbeats = heartbeatSubject<OverflowHeartbeat>(
  'overflow.carrier',
  limits.overflow.bytesMax,
  ({ lanes }, from) => {
    if (!isMap(lanes)) return null;
    const sound = Object.values(lanes).every(
      (accounts) => isMap(accounts) && Object.values(accounts).every((full) => typeof full === 'boolean'),
    );
    return sound ? { ...from, lanes } : null;
  },
);

/** Where an accepted message is published. `full`: the account has so many waiting that it is refused. */
type QueuePlace = { readonly subject: string } | { readonly full: true };
export type AccountQueues = {
  placeOf(category: Category, carrier: string, accountId: string): QueuePlace;
  readonly stop: Cancel;
};

export function watchOverflow(bus: Bus, clock: Clock = systemClock): AccountQueues {
  const received = new OverflowHeartbeats(clock);
  return {
    placeOf: (category, carrier, accountId) => received.placeOf(category, carrier, accountId),
    stop: overflowHeartbeats.watch(bus, (heartbeat) => received.take(heartbeat)),
  };
}

/** The last heartbeat of each node. An account counts as flooding when any node says so. */
export class OverflowHeartbeats extends LastHeartbeats<OverflowHeartbeat> {
  override take(heartbeat: OverflowHeartbeat): void {
    if (Object.keys(heartbeat.lanes).length > 0) super.take(heartbeat);
    else this.forget(heartbeat);
  }

  placeOf(category: Category, carrier: string, accountId: string): QueuePlace {
    const full = this.#fullOf(laneOf[category], carrier, accountId);
    if (full === undefined) return { subject: messageSubject(category, carrier, accountId) };
    return full ? { full } : { subject: overflowSubject(category, carrier, accountId) };
  }

  /** undefined: it does not flood. */
  #fullOf(lane: Lane, carrier: string, accountId: string): boolean | undefined {
    // The usual case costs one look-up in an empty map.
    const nodes = this.of(carrier);
    if (nodes === undefined) return undefined;
    const nowMs = this.clock.monotonicMs();
    const { staleMs, fullStaleMs } = limits.overflow;
    let full: boolean | undefined;
    for (const { heartbeat, atMs } of nodes) {
      const accounts = heartbeat.lanes[lane];
      if (accounts === undefined || nowMs - atMs > staleMs || !Object.hasOwn(accounts, accountId)) continue;
      full = full === true || (accounts[accountId] === true && nowMs - atMs <= fullStaleMs);
    }
    return full;
  }
}

function isMap(value: unknown): value is Record<string, unknown> {
  return typeof value === 'object' && value !== null && !Array.isArray(value);
}
