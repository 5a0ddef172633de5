// What other layers may see of the actors. Types only.
import type { CarrierReport } from '../cluster/operator-commands/contract.ts';

/** One carrier of one thread, for its process's health report. */
export type CarrierStatus = Pick<CarrierReport, 'carrier' | 'state' | 'why' | 'inFlight'> & {
  readonly bindsBound: number;
  readonly bindsWanted: number;
  /** Binds that another node has. */
  readonly elsewhere: number;
};
