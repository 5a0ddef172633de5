// Operator commands about carriers and the reports of those who serve them: types only, shared by the command line,
// the management API and the actors. A command is in effect until the next one for the same carrier or bind.
import type { BindState, CarrierState } from '../../model/carrier-state.ts';
import type { AuditId } from '../../model/ids.ts';

export type { DesiredState } from '../../model/carrier-state.ts';

/**
 * pause: nothing more is submitted, sessions stay and receipts come in · drain: the same, and the sessions end when
 * what is out is answered · resume: as if nothing had been ordered, and binds that were given up are tried again.
 */
export type CommandVerb = 'pause' | 'drain' | 'resume';

export type OperatorCommand = {
  readonly v: 1;
  /** The audit record's id, too. */
  readonly id: AuditId;
  readonly atMs: number;
  readonly verb: CommandVerb;
  readonly carrier: string;
  /** From 1, in the order of heliograph.yaml with `count` unfolded; null: the whole carrier. */
  readonly bind: number | null;
  readonly reason: string;
  /** `operator` for the command line, else the id of an API key. */
  readonly actor: string;
  /** The machine's user and name, or the client's address. */
  readonly from: string;
};

/** The last orders for one carrier. */
export type CarrierCommands = {
  readonly carrier: OperatorCommand | null;
  readonly binds: ReadonlyMap<number, OperatorCommand>;
};

export type BindReport = {
  /** From 1. */
  readonly bind: number;
  readonly type: string;
  readonly state: BindState;
  readonly reason: string;
  readonly windowUsed: number;
  readonly window: number;
  /** Until its next try; null when it does not wait for one. */
  readonly nextTryInMs: number | null;
};

/** How one carrier is where it is served. */
export type CarrierReport = {
  readonly carrier: string;
  /** It has none of the carrier's binds: others speak for it, and its state is nobody's. */
  readonly standby: boolean;
  readonly state: CarrierState;
  readonly why: string;
  /** Ids of the orders that are in effect there. */
  readonly commands: readonly string[];
  readonly binds: readonly BindReport[];
  /** Messages taken from the streams and not settled. */
  readonly inFlight: number;
  /** Null: none of the contract is theirs. */
  readonly pace: Pace | null;
  readonly recovering: Recovering | null;
};

/**
 * Segments a second, of those that the contract allows there. `slowedBy`: what the carrier said; empty when at the
 * whole rate.
 */
export type Pace = { readonly perS: number; readonly ofPerS: number; readonly slowedBy: string };

/** Still avoided, although there is no fault any more: so long already, and until it is good again if it stays so. */
export type Recovering = { readonly forMs: number; readonly goodInMs: number };

/** What one thread of one node answers. */
export type CarriersReport = { readonly v: 1; readonly thread: string; readonly carriers: readonly CarrierReport[] };
