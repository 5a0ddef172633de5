// What other layers may see of the actors. Types only.
import type { CarrierState } from '../model/carrier-state.ts';

/** One bind of one carrier as health and operators see it. */
export type CarrierStatus = {
  readonly carrier: string;
  readonly bindsBound: number;
  readonly bindsWanted: number;
  /** Binds that another node has. */
  readonly elsewhere: number;
  /** As published to the entry points, and why when it is not good. */
  readonly state: CarrierState;
  readonly why: string;
  /** Messages taken from the streams and not settled yet. */
  readonly inFlight: number;
  /** Why binds are down, one line each. */
  readonly reasons: readonly string[];
};
