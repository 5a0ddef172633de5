// Carrier health as heartbeats: each actor publishes it, and everything that plans routes subscribes. It never delays
// or refuses a message.
import { type CarrierState, carrierStates, isCarrierState } from '../../model/carrier-state.ts';
import { type Clock, systemClock } from '../../platform/clock.ts';
import { limits } from '../../platform/limits.ts';
import type { Bus } from './connect.ts';
import { type Heartbeat, LastHeartbeats, heartbeatSubject } from './heartbeat.ts';

type CarrierHeartbeat = Heartbeat & {
  readonly state: CarrierState;
  /** The reason in one word; empty when the carrier is good. */
  readonly why: string;
};

/** The `why` of a carrier that is no longer configured: does not mean that a node still serves it. */
export const removedWhy = 'removed';

export const carrierHealth = heartbeatSubject<CarrierHeartbeat>(
  'health.carrier',
  limits.heartbeats.bytesMax,
  ({ state, why }, from) =>
    isCarrierState(state) ? { ...from, state, why: typeof why === 'string' ? why : '' } : null,
);

/** A carrier without a heartbeat is good. */
export function watchCarriers(bus: Bus, clock: Clock = systemClock) {
  const received = new CarrierHeartbeats(clock);
  return {
    stateOf: (carrier: string) => received.stateOf(carrier),
    reasonOf: (carrier: string) => received.reasonOf(carrier),
    stop: carrierHealth.watch(bus, (heartbeat) => received.take(heartbeat)),
  };
}

type Health = Pick<CarrierHeartbeat, 'state' | 'why'>;

/** The heartbeats received, and the resulting state: of several nodes the best, since one that can send is enough. */
export class CarrierHeartbeats extends LastHeartbeats<CarrierHeartbeat> {
  stateOf(carrier: string): CarrierState {
    return this.#judge(carrier).state;
  }

  reasonOf(carrier: string): string {
    return this.#judge(carrier).why;
  }

  #judge(carrier: string): Health {
    const nodes = this.of(carrier);
    if (nodes === undefined) return nothingReceived;
    const nowMs = this.clock.monotonicMs();
    const { staleMs, silentDownMs } = limits.heartbeats;
    let best: Health | null = null;
    let newestAtMs = Number.NEGATIVE_INFINITY;
    for (const { heartbeat, atMs } of nodes) {
      newestAtMs = Math.max(newestAtMs, atMs);
      if (nowMs - atMs > staleMs) continue;
      if (best === null || carrierStates.indexOf(heartbeat.state) < carrierStates.indexOf(best.state)) best = heartbeat;
    }
    if (best !== null) return best;
    // No heartbeats of any carrier: the fault is here, a lost connection or an actors process that restarts.
    if (nowMs - this.lastAtMs > staleMs) return nothingReceived;
    return { state: nowMs - newestAtMs > silentDownMs ? 'down' : 'weak', why: 'silent' };
  }
}

const nothingReceived: Health = { state: 'good', why: '' };
