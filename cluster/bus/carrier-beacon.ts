// How every carrier does, told by whoever serves it and heard by everybody who plans: core NATS, at once on every
// change and again every second. Nothing here is durable, because a minute later it is not true any more; a beacon
// that was lost only means that the next one counts. It must never make anybody wait, nor refuse a message.
import { type CarrierState, carrierStates, isCarrierState } from '../../model/carrier-state.ts';
import { type Clock, systemClock } from '../../platform/clock.ts';
import { ignoring } from '../../platform/errors.ts';
import { limits } from '../../platform/limits.ts';
import type { Bus } from './connect.ts';

export type CarrierBeacon = {
  readonly carrier: string;
  /** Who tells: several nodes may serve one carrier. */
  readonly node: string;
  readonly state: CarrierState;
  /** One short word; empty when all is well. */
  readonly why: string;
};

/** Why a carrier that is configured no more is down: it is no sign that anybody still serves it. */
export const removedWhy = 'removed';

export type CarrierWatch = {
  /** A carrier nobody has told of is good. */
  stateOf(carrier: string): CarrierState;
  whyOf(carrier: string): string;
  stop(): void;
};

export function tellBeacon(bus: Bus, beacon: CarrierBeacon): void {
  // Written into a lost connection it would be told late, and then be wrong.
  if (bus.connected()) bus.connection.publish(subjectOf(beacon.carrier), JSON.stringify(beacon));
}

export function watchCarriers(bus: Bus, clock: Clock = systemClock): CarrierWatch {
  const heard = new HeardBeacons(clock);
  const subscription = bus.connection.subscribe(subjectOf('*'), {
    callback: (error, message) => {
      if (error !== null) return ignoring(error, 'the beacons of carriers cannot be heard for now');
      const beacon = readBeacon(message.data);
      if (beacon !== null) heard.take(beacon);
    },
  });
  return {
    stateOf: (carrier) => heard.stateOf(carrier),
    whyOf: (carrier) => heard.whyOf(carrier),
    stop: () => subscription.unsubscribe(),
  };
}

type Told = { readonly state: CarrierState; readonly why: string; readonly atMs: number };

/** What was heard, and what it comes to: with several nodes the best of them, because one way through is enough. */
export class HeardBeacons {
  readonly #clock: Clock;
  readonly #carriers = new Map<string, Map<string, Told>>();
  #lastAtMs = Number.NEGATIVE_INFINITY;

  constructor(clock: Clock) {
    this.#clock = clock;
  }

  take({ carrier, node, state, why }: CarrierBeacon): void {
    const { carriersMax, nodesMax } = limits.beacons;
    const nowMs = this.#clock.monotonicMs();
    this.#lastAtMs = nowMs;
    let nodes = this.#carriers.get(carrier);
    if (nodes === undefined) {
      if (this.#carriers.size >= carriersMax) return;
      nodes = new Map();
      this.#carriers.set(carrier, nodes);
    }
    nodes.delete(node);
    nodes.set(node, { state, why, atMs: nowMs });
    if (nodes.size > nodesMax) for (const oldest of nodes.keys()) if (nodes.size > nodesMax) nodes.delete(oldest);
  }

  stateOf(carrier: string): CarrierState {
    return this.#judge(carrier).state;
  }

  whyOf(carrier: string): string {
    return this.#judge(carrier).why;
  }

  #judge(carrier: string): Told {
    const nodes = this.#carriers.get(carrier);
    if (nodes === undefined) return nothingHeard;
    const nowMs = this.#clock.monotonicMs();
    const { staleMs, silentDownMs } = limits.beacons;
    let best: Told | null = null;
    let newestAtMs = Number.NEGATIVE_INFINITY;
    for (const told of nodes.values()) {
      newestAtMs = Math.max(newestAtMs, told.atMs);
      if (nowMs - told.atMs > staleMs) continue;
      if (best === null || carrierStates.indexOf(told.state) < carrierStates.indexOf(best.state)) best = told;
    }
    if (best !== null) return best;
    // Silence of all carriers is our own: a connection lost, or an actors process that starts again.
    if (nowMs - this.#lastAtMs > staleMs) return nothingHeard;
    return { state: nowMs - newestAtMs > silentDownMs ? 'down' : 'weak', why: 'silent', atMs: newestAtMs };
  }
}

const nothingHeard: Told = { state: 'good', why: '', atMs: 0 };

function subjectOf(carrier: string): string {
  return `health.carrier.${carrier}`;
}

/** Null for what is no beacon: a later version may tell more, and something else may speak on the subject. */
export function readBeacon(octets: Uint8Array): CarrierBeacon | null {
  if (octets.length > limits.beacons.bytesMax) return null;
  try {
    const told = JSON.parse(Buffer.from(octets).toString('utf8')) as Partial<Record<keyof CarrierBeacon, unknown>>;
    const { carrier, node, state, why } = told;
    if (typeof carrier !== 'string' || typeof node !== 'string' || !isCarrierState(state)) return null;
    return { carrier, node, state, why: typeof why === 'string' ? why : '' };
  } catch (error) {
    ignoring(error, 'something that is no beacon came on the subject of beacons');
    return null;
  }
}
