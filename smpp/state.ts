// Session states × commands (SMPP 3.4 §2.2, §2.3): which PDU a side may receive in which state, and the allowed
// transitions. Client and simulator share this table.
import { assert } from '../platform/assert.ts';
import type { Pdu } from './pdu.ts';

//   connecting ─► open ─► binding ─► bound_tx | bound_rx | bound_trx ─► unbinding ─► closed
//   (the server's side starts at open and goes to bound without binding; every state may go to closed)
export type SessionState =
  | 'connecting'
  | 'open'
  | 'binding'
  | 'bound_tx'
  | 'bound_rx'
  | 'bound_trx'
  | 'unbinding'
  | 'closed';

type Side = 'esme' | 'smsc';

const edges: Record<SessionState, readonly SessionState[]> = {
  connecting: ['open', 'closed'],
  open: ['binding', 'bound_tx', 'bound_rx', 'bound_trx', 'closed'],
  binding: ['bound_tx', 'bound_rx', 'bound_trx', 'closed'],
  bound_tx: ['unbinding', 'closed'],
  bound_rx: ['unbinding', 'closed'],
  bound_trx: ['unbinding', 'closed'],
  unbinding: ['closed'],
  closed: [],
};

/** Returns the next state. Asserts that the transition is in the table above: a peer cannot cause another one. */
export function become(from: SessionState, next: SessionState, why: string): SessionState {
  assert(edges[from].includes(next), `a session cannot go from ${from} to ${next} (${why})`);
  return next;
}

export function isBound(state: SessionState): boolean {
  return state === 'bound_tx' || state === 'bound_rx' || state === 'bound_trx';
}

export const canTransmit = (state: SessionState) => state === 'bound_tx' || state === 'bound_trx';
export const canReceive = (state: SessionState) => state === 'bound_rx' || state === 'bound_trx';

/** Whether `side` may receive this command in `state`. */
export function mayReceive(side: Side, state: SessionState, command: Pdu['command']): boolean {
  if (state === 'closed' || state === 'connecting') return false;
  switch (command) {
    case 'enquire_link':
    case 'enquire_link_resp':
    case 'generic_nack':
      return true;
    case 'bind_transmitter':
    case 'bind_receiver':
    case 'bind_transceiver':
      return side === 'smsc' && state === 'open';
    case 'bind_transmitter_resp':
    case 'bind_receiver_resp':
    case 'bind_transceiver_resp':
      return side === 'esme' && state === 'binding';
    case 'unbind':
      return isBound(state) || state === 'unbinding';
    case 'unbind_resp':
      return state === 'unbinding';
    case 'submit_sm':
    case 'query_sm':
    case 'cancel_sm':
      return side === 'smsc' && canTransmit(state);
    // While unbinding, responses to earlier requests still count.
    case 'submit_sm_resp':
    case 'query_sm_resp':
    case 'cancel_sm_resp':
      return side === 'esme' && (canTransmit(state) || state === 'unbinding');
    case 'deliver_sm':
      return side === 'esme' && (canReceive(state) || state === 'unbinding');
    case 'deliver_sm_resp':
      return side === 'smsc' && (canReceive(state) || state === 'unbinding');
    case 'data_sm':
    case 'data_sm_resp':
      return isBound(state) || state === 'unbinding';
    case 'other':
      return false;
  }
}
