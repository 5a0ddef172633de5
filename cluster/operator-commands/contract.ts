// Operator commands about carriers, and the reports of the threads that serve them: types only, shared by the command
// line, the management API and the actors. A command is in effect until the next one for the same carrier or bind.
import type { BindState, CarrierState } from '../../model/carrier-state.ts';
import type { AuditId } from '../../model/ids.ts';

export type { DesiredState } from '../../model/carrier-state.ts';

/**
 * pause: nothing is submitted; sessions stay bound and receipts arrive · drain: the same, and the sessions unbind when
 * all submits are answered · resume: back to normal, and binds that were given up are tried again.
 */
export type CommandVerb = 'pause' | 'drain' | 'resume';

export type OperatorCommand = {
  readonly v: 1;
  /** Also the id of its audit record. */
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

/** The last commands of one carrier. */
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
  /** Null when it does not wait for its next try. */
  readonly nextTryInMs: number | null;
};

/** The state of a carrier on one node. */
export type CarrierReport = {
  readonly carrier: string;
  /** This node has none of the carrier's binds: only other nodes' reports give its state. */
  readonly standby: boolean;
  readonly state: CarrierState;
  readonly why: string;
  /** Ids of the commands in effect there. */
  readonly commands: readonly string[];
  readonly binds: readonly BindReport[];
  /** Messages taken from the streams and not settled. */
  readonly inFlight: number;
  /** Null: this node has no share of the contract. */
  readonly pace: Pace | null;
  readonly recovering: Recovering | null;
};

/**
 * Segments a second, and how many the node's share of the contract allows. `slowedBy`: the carrier's status for
 * throttling; empty at the whole rate.
 */
export type Pace = { readonly perS: number; readonly ofPerS: number; readonly slowedBy: string };

/** Still avoided after the fault: for how long, and in how long it is good again if no fault follows. */
export type Recovering = { readonly forMs: number; readonly goodInMs: number };

/** The report of one thread of one node. */
export type CarriersReport = { readonly v: 1; readonly thread: string; readonly carriers: readonly CarrierReport[] };
