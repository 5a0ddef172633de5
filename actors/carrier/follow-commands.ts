// Applies an operator command to a whole carrier: first the binds, so that nothing more is submitted, then the
// published health, then chosen messages return to their lanes. Also makes the carrier's report for operators.
import type { CarrierCommands, CarrierReport } from '../../cluster/operator-commands/contract.ts';
import { commandIds } from '../../cluster/operator-commands/watch-commands.ts';
import type { BindState } from '../../model/carrier-state.ts';
import { log } from '../../platform/log.ts';
import type { DecisionRing } from '../flight/decision-ring.ts';
import type { AssembledCarrier } from './assemble.ts';
import { contractOf } from './pacing/pacing.ts';
import type { BindStatus } from './binds/binds.ts';

export function followCommands(made: AssembledCarrier, commands: CarrierCommands): void {
  const { carrier, binds, health, sender, pacing, shared, flight } = made;
  publishNew(binds.commands.commands, commands, flight.decided);
  binds.commands.take(commands);
  // With several nodes the carrier's share is computed again at every check.
  if (shared === null && carrier.tpsScope === 'bind') pacing.setContract(contractNow(made));
  health.command(binds.commands.desiredState);
  standDown(made);
  sender.wake();
}

function publishNew(before: CarrierCommands, commands: CarrierCommands, decided: DecisionRing): void {
  const known = new Set(commandIds(before));
  for (const command of [commands.carrier, ...commands.binds.values()]) {
    if (command === null || known.has(command.id)) continue;
    const { id, carrier, bind, verb, actor, from, reason } = command;
    log.info({ command: id, carrier, bind, verb, actor, from, reason }, 'an operator command is applied');
    const what = bind === null ? verb : `${verb} of bind ${bind}`;
    decided.command(`${what}, by ${actor}${reason === '' ? '' : `: ${reason}`}`);
  }
}

/** The whole contract; of a contract per bind, that of the binds that may submit. */
export function contractNow({ carrier, binds }: Pick<AssembledCarrier, 'carrier' | 'binds'>): number {
  if (carrier.tpsScope !== 'bind') return contractOf(carrier);
  return carrier.tps * Math.max(1, binds.submitters.filter(({ desiredState }) => desiredState === 'running').length);
}

/**
 * While nothing may be submitted: a message with an intent and no PDU returns to its lane, and can still move or end.
 */
export function standDown({ binds, sender, messages }: Pick<AssembledCarrier, 'binds' | 'sender' | 'messages'>): void {
  if (binds.commands.desiredState === 'running') return;
  for (const inFlight of sender.standDown()) messages.tryAgain(inFlight);
}

/** `paces`: a part of the contract is this node's. */
export function reportOf(made: AssembledCarrier, paces: boolean): Omit<CarrierReport, 'standby'> {
  const { carrier, binds, health, messages, pacing, clock } = made;
  return {
    carrier: carrier.name,
    state: health.state,
    why: health.why,
    commands: commandIds(binds.commands.commands),
    inFlight: messages.size,
    pace: paces ? pacing.pace(clock.monotonicMs()) : null,
    recovering: health.recovering,
    binds: binds.status.map((status, index) => {
      const { type, windowUsed, window, nextTryInMs } = status;
      const state = bindStateOf(status);
      const reason = sayItself.has(state) ? '' : status.reason;
      return { bind: index + 1, type, state, reason, windowUsed, window, nextTryInMs };
    }),
  };
}

/** States that need no reason. */
const sayItself: ReadonlySet<BindState> = new Set(['bound', 'resting', 'elsewhere']);

/** Another node has a bind that rests and was not drained. */
export function bindStateOf({ state, desiredState }: Pick<BindStatus, 'state' | 'desiredState'>): BindState {
  return state === 'resting' && desiredState !== 'drained' ? 'elsewhere' : state;
}
