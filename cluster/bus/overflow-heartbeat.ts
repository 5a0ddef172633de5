// Which accounts flood a lane of a carrier, over core NATS: actors publish it, entry points subscribe. An entry point
// then publishes the messages of such an account directly to its overflow shard, and refuses what exceeds its queue.
// A lost heartbeat does no harm: the actor moves records to the overflow shard itself, and finds those that are
// there.
import { type Lane, type Category, laneOf } from '../../model/message.ts';
import { type Clock, systemClock } from '../../platform/clock.ts';
import { ignoring } from '../../platform/errors.ts';
import { limits } from '../../platform/limits.ts';
import type { Bus } from './connect.ts';
import { overflowSubject, messageSubject } from './subjects.ts';

export type OverflowHeartbeat = {
  readonly carrier: string;
  /** Who publishes: several nodes may serve one carrier. */
  readonly node: string;
  /** Accounts whose new messages go to overflow, by lane; true: and their queue is full. */
  readonly lanes: Partial<Readonly<Record<Lane, Readonly<Record<string, boolean>>>>>;
};

export function publishOverflowHeartbeat(bus: Bus, heartbeat: OverflowHeartbeat): void {
  if (bus.connected()) bus.connection.publish(subjectOf(heartbeat.carrier), JSON.stringify(heartbeat));
}

/** Where a message goes when it is accepted. `full`: so much of the account waits already that it is not accepted. */
export type QueuePlace = { readonly subject: string } | { readonly full: true };
export type AccountQueues = {
  placeOf(category: Category, carrier: string, accountId: string): QueuePlace;
  stop(): void;
};

export function watchOverflow(bus: Bus, clock: Clock = systemClock): AccountQueues {
  const heard = new OverflowHeartbeats(clock);
  const subscription = bus.connection.subscribe(subjectOf('*'), {
    callback: (error, message) => {
      if (error !== null) return ignoring(error, 'what is moved to overflow cannot be received at the moment');
      const heartbeat = readOverflowHeartbeat(message.data);
      if (heartbeat !== null) heard.take(heartbeat);
    },
  });
  return {
    placeOf: (category, carrier, accountId) => heard.placeOf(category, carrier, accountId),
    stop: () => subscription.unsubscribe(),
  };
}

/** The last heartbeat of each node. An account counts as flooding when any of them says so. */
export class OverflowHeartbeats {
  readonly #clock: Clock;
  readonly #carriers = new Map<
    string,
    Map<string, { readonly atMs: number; readonly lanes: OverflowHeartbeat['lanes'] }>
  >();

  constructor(clock: Clock) {
    this.#clock = clock;
  }

  take({ carrier, node, lanes }: OverflowHeartbeat): void {
    const nodes = this.#carriers.get(carrier) ?? new Map();
    const { carriersMax, nodesMax } = limits.heartbeats;
    nodes.delete(node);
    if (Object.keys(lanes).length > 0) nodes.set(node, { atMs: this.#clock.monotonicMs(), lanes });
    for (const oldest of nodes.keys()) if (nodes.size > nodesMax) nodes.delete(oldest);
    if (nodes.size === 0) this.#carriers.delete(carrier);
    else if (this.#carriers.has(carrier) || this.#carriers.size < carriersMax) this.#carriers.set(carrier, nodes);
  }

  placeOf(category: Category, carrier: string, accountId: string): QueuePlace {
    const full = this.#fullOf(laneOf[category], carrier, accountId);
    if (full === undefined) return { subject: messageSubject(category, carrier, accountId) };
    return full ? { full } : { subject: overflowSubject(category, carrier, accountId) };
  }

  /** undefined: nobody says that it floods. */
  #fullOf(lane: Lane, carrier: string, accountId: string): boolean | undefined {
    // Nearly always no account floods: one look-up in an empty map.
    const nodes = this.#carriers.get(carrier);
    if (nodes === undefined) return undefined;
    const nowMs = this.#clock.monotonicMs();
    const { staleMs, fullStaleMs } = limits.overflow;
    let full: boolean | undefined;
    for (const reported of nodes.values()) {
      const accounts = reported.lanes[lane];
      if (accounts === undefined || nowMs - reported.atMs > staleMs || !Object.hasOwn(accounts, accountId)) continue;
      full = full === true || (accounts[accountId] === true && nowMs - reported.atMs <= fullStaleMs);
    }
    return full;
  }
}

function subjectOf(carrier: string): string {
  return `overflow.carrier.${carrier}`;
}

/** Null for what is no heartbeat: a later version may send more fields, and something else may speak on the subject. */
export function readOverflowHeartbeat(octets: Uint8Array): OverflowHeartbeat | null {
  if (octets.length > limits.overflow.bytesMax) return null;
  try {
    const reported = JSON.parse(Buffer.from(octets).toString('utf8')) as Partial<
      Record<keyof OverflowHeartbeat, unknown>
    >;
    const { carrier, node, lanes } = reported;
    if (typeof carrier !== 'string' || typeof node !== 'string' || !isMap(lanes)) return null;
    const sound = Object.values(lanes).every(
      (accounts) => isMap(accounts) && Object.values(accounts).every((full) => typeof full === 'boolean'),
    );
    return sound ? { carrier, node, lanes } : null;
  } catch (error) {
    ignoring(error, 'something that is no heartbeat came on the subject of what is moved to overflow');
    return null;
  }
}

function isMap(value: unknown): value is Record<string, unknown> {
  return typeof value === 'object' && value !== null && !Array.isArray(value);
}
