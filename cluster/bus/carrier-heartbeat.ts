// Health of carriers over core NATS: each actor publishes it at every change and every second, and everything that
// plans routes subscribes. Nothing is durable, because it is outdated a minute later; after a lost heartbeat the next
// one counts. It never delays or refuses a message.
import { type CarrierState, carrierStates, isCarrierState } from '../../model/carrier-state.ts';
import { type Clock, systemClock } from '../../platform/clock.ts';
import { ignoring } from '../../platform/errors.ts';
import { limits } from '../../platform/limits.ts';
import type { Bus } from './connect.ts';

export type CarrierHeartbeat = {
  readonly carrier: string;
  /** Who publishes: several nodes may serve one carrier. */
  readonly node: string;
  readonly state: CarrierState;
  /** The reason as one short word; empty when the carrier is good. */
  readonly why: string;
};

/** Why a carrier that is configured no more is down: it is no sign that anybody still serves it. */
export const removedWhy = 'removed';

export type CarrierWatch = {
  /** A carrier without a heartbeat is good. */
  stateOf(carrier: string): CarrierState;
  reasonOf(carrier: string): string;
  stop(): void;
};

export function publishHeartbeat(bus: Bus, heartbeat: CarrierHeartbeat): void {
  // Written into a lost connection it would arrive late, and then be wrong.
  if (bus.connected()) bus.connection.publish(subjectOf(heartbeat.carrier), JSON.stringify(heartbeat));
}

export function watchCarriers(bus: Bus, clock: Clock = systemClock): CarrierWatch {
  const heard = new CarrierHeartbeats(clock);
  const subscription = bus.connection.subscribe(subjectOf('*'), {
    callback: (error, message) => {
      if (error !== null) return ignoring(error, 'the heartbeats of carriers cannot be received at the moment');
      const heartbeat = readHeartbeat(message.data);
      if (heartbeat !== null) heard.take(heartbeat);
    },
  });
  return {
    stateOf: (carrier) => heard.stateOf(carrier),
    reasonOf: (carrier) => heard.reasonOf(carrier),
    stop: () => subscription.unsubscribe(),
  };
}

type Reported = { readonly state: CarrierState; readonly why: string; readonly atMs: number };

/** The received heartbeats and the resulting state: of several nodes the best, because one that can send is enough. */
export class CarrierHeartbeats {
  readonly #clock: Clock;
  readonly #carriers = new Map<string, Map<string, Reported>>();
  #lastAtMs = Number.NEGATIVE_INFINITY;

  constructor(clock: Clock) {
    this.#clock = clock;
  }

  take({ carrier, node, state, why }: CarrierHeartbeat): void {
    const { carriersMax, nodesMax } = limits.heartbeats;
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

  reasonOf(carrier: string): string {
    return this.#judge(carrier).why;
  }

  #judge(carrier: string): Reported {
    const nodes = this.#carriers.get(carrier);
    if (nodes === undefined) return nothingReceived;
    const nowMs = this.#clock.monotonicMs();
    const { staleMs, silentDownMs } = limits.heartbeats;
    let best: Reported | null = null;
    let newestAtMs = Number.NEGATIVE_INFINITY;
    for (const reported of nodes.values()) {
      newestAtMs = Math.max(newestAtMs, reported.atMs);
      if (nowMs - reported.atMs > staleMs) continue;
      if (best === null || carrierStates.indexOf(reported.state) < carrierStates.indexOf(best.state)) best = reported;
    }
    if (best !== null) return best;
    // When no carrier sends heartbeats, the cause is here: a lost connection, or an actors process that restarts.
    if (nowMs - this.#lastAtMs > staleMs) return nothingReceived;
    return { state: nowMs - newestAtMs > silentDownMs ? 'down' : 'weak', why: 'silent', atMs: newestAtMs };
  }
}

const nothingReceived: Reported = { state: 'good', why: '', atMs: 0 };

function subjectOf(carrier: string): string {
  return `health.carrier.${carrier}`;
}

/** Null for what is no heartbeat: a later version may send more fields, and something else may speak on the subject. */
export function readHeartbeat(octets: Uint8Array): CarrierHeartbeat | null {
  if (octets.length > limits.heartbeats.bytesMax) return null;
  try {
    const reported = JSON.parse(Buffer.from(octets).toString('utf8')) as Partial<
      Record<keyof CarrierHeartbeat, unknown>
    >;
    const { carrier, node, state, why } = reported;
    if (typeof carrier !== 'string' || typeof node !== 'string' || !isCarrierState(state)) return null;
    return { carrier, node, state, why: typeof why === 'string' ? why : '' };
  } catch (error) {
    ignoring(error, 'something that is no heartbeat came on the subject of heartbeats');
    return null;
  }
}
