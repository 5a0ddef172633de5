// Which accounts flood a lane of a carrier, told by the actors and heard by the doors, over core NATS: a door then sends
// what such an account brings straight to its aside shard, and refuses what goes beyond its queue. Nothing depends on a
// telling that is lost: a record in the usual shard is set aside by the actor, and one in an aside shard is found there.
import { type Lane, type Category, laneOf } from '../../model/message.ts';
import { type Clock, systemClock } from '../../platform/clock.ts';
import { ignoring } from '../../platform/errors.ts';
import { limits } from '../../platform/limits.ts';
import type { Bus } from './connect.ts';
import { asideSubject, messageSubject } from './subjects.ts';

export type AsideBeacon = {
  readonly carrier: string;
  /** Who tells: several nodes may serve one carrier. */
  readonly node: string;
  /** Accounts whose new messages go aside, by lane; true: and their queue is full. */
  readonly lanes: Partial<Readonly<Record<Lane, Readonly<Record<string, boolean>>>>>;
};

export function tellAside(bus: Bus, beacon: AsideBeacon): void {
  if (bus.connected()) bus.connection.publish(subjectOf(beacon.carrier), JSON.stringify(beacon));
}

/** Where a message goes when it is accepted. `full`: so much of the account waits already that it is not accepted. */
export type QueuePlace = { readonly subject: string } | { readonly full: true };
export type AccountQueues = {
  placeOf(category: Category, carrier: string, accountId: string): QueuePlace;
  stop(): void;
};

export function watchAside(bus: Bus, clock: Clock = systemClock): AccountQueues {
  const heard = new HeardAside(clock);
  const subscription = bus.connection.subscribe(subjectOf('*'), {
    callback: (error, message) => {
      if (error !== null) return ignoring(error, 'what is set aside cannot be heard for now');
      const beacon = readAside(message.data);
      if (beacon !== null) heard.take(beacon);
    },
  });
  return {
    placeOf: (category, carrier, accountId) => heard.placeOf(category, carrier, accountId),
    stop: () => subscription.unsubscribe(),
  };
}

/** What was heard last of each node. An account is taken for flooding when any of them says so. */
export class HeardAside {
  readonly #clock: Clock;
  readonly #carriers = new Map<string, Map<string, { readonly atMs: number; readonly lanes: AsideBeacon['lanes'] }>>();

  constructor(clock: Clock) {
    this.#clock = clock;
  }

  take({ carrier, node, lanes }: AsideBeacon): void {
    const nodes = this.#carriers.get(carrier) ?? new Map();
    const { carriersMax, nodesMax } = limits.beacons;
    nodes.delete(node);
    if (Object.keys(lanes).length > 0) nodes.set(node, { atMs: this.#clock.monotonicMs(), lanes });
    for (const oldest of nodes.keys()) if (nodes.size > nodesMax) nodes.delete(oldest);
    if (nodes.size === 0) this.#carriers.delete(carrier);
    else if (this.#carriers.has(carrier) || this.#carriers.size < carriersMax) this.#carriers.set(carrier, nodes);
  }

  placeOf(category: Category, carrier: string, accountId: string): QueuePlace {
    const full = this.#fullOf(laneOf[category], carrier, accountId);
    if (full === undefined) return { subject: messageSubject(category, carrier, accountId) };
    return full ? { full } : { subject: asideSubject(category, carrier, accountId) };
  }

  /** undefined: nobody says that it floods. */
  #fullOf(lane: Lane, carrier: string, accountId: string): boolean | undefined {
    // Nearly always nobody floods anything: one look at an empty map.
    const nodes = this.#carriers.get(carrier);
    if (nodes === undefined) return undefined;
    const nowMs = this.#clock.monotonicMs();
    const { staleMs, fullStaleMs } = limits.aside;
    let full: boolean | undefined;
    for (const told of nodes.values()) {
      const accounts = told.lanes[lane];
      if (accounts === undefined || nowMs - told.atMs > staleMs || !Object.hasOwn(accounts, accountId)) continue;
      full = full === true || (accounts[accountId] === true && nowMs - told.atMs <= fullStaleMs);
    }
    return full;
  }
}

function subjectOf(carrier: string): string {
  return `aside.carrier.${carrier}`;
}

/** Null for what is no beacon: a later version may tell more, and something else may speak on the subject. */
export function readAside(octets: Uint8Array): AsideBeacon | null {
  if (octets.length > limits.aside.bytesMax) return null;
  try {
    const told = JSON.parse(Buffer.from(octets).toString('utf8')) as Partial<Record<keyof AsideBeacon, unknown>>;
    const { carrier, node, lanes } = told;
    if (typeof carrier !== 'string' || typeof node !== 'string' || !isMap(lanes)) return null;
    const sound = Object.values(lanes).every(
      (accounts) => isMap(accounts) && Object.values(accounts).every((full) => typeof full === 'boolean'),
    );
    return sound ? { carrier, node, lanes } : null;
  } catch (error) {
    ignoring(error, 'something that is no beacon came on the subject of what is set aside');
    return null;
  }
}

function isMap(value: unknown): value is Record<string, unknown> {
  return typeof value === 'object' && value !== null && !Array.isArray(value);
}
