// Sets the gauges of one carrier once a second, in one pass over its messages in flight and outside the path of a
// message.
import { bindStates, carrierStates, desiredStates } from '../../model/carrier-state.ts';
import { type Category, categories } from '../../model/message.ts';
import { metrics } from '../../platform/telemetry.ts';
import type { AssembledCarrier } from './assemble.ts';
import { contractOf } from './pacing/pacing.ts';
import type { InFlightMessage } from './in-flight/in-flight-message.ts';
import { bindStateOf } from './follow-commands.ts';

/** `paces`: a part of the contract is this node's. */
export function setGauges(made: AssembledCarrier, paces: boolean): void {
  const { carrier: config, clock, health, pacing, binds, outstanding, lanes, messages } = made;
  const carrier = config.name;
  metrics.carrierHealth.set({ carrier }, carrierStates.indexOf(health.state));
  metrics.carrierDesiredState.set({ carrier }, desiredStates.indexOf(binds.commands.desiredState));
  metrics.carrierRate.set({ carrier }, paces ? pacing.ratePerS(clock.monotonicMs()) : 0);
  metrics.carrierContract.set({ carrier }, contractOf(config));
  metrics.bindsBound.set({ carrier }, binds.boundCount);
  metrics.windowInUse.set({ carrier }, binds.windowUsed);
  metrics.carrierWindow.set(
    { carrier },
    binds.ports.reduce((sum, { window }) => sum + window, 0),
  );
  metrics.outstandingReceipts.set({ carrier }, outstanding.size);
  metrics.outstandingBytes.set({ carrier }, outstanding.bytes);
  const oldest = oldestWaiting(messages.all());
  for (const category of categories) {
    metrics.laneDepth.set({ carrier, category }, lanes.size(category));
    const sinceMs = oldest.get(category);
    const ageS = sinceMs === undefined ? 0 : Math.max(0, clock.nowMs() - sinceMs) / 1_000;
    metrics.laneOldest.set({ carrier, category }, ageS);
  }
  for (const [index, status] of binds.status.entries()) {
    const bind = String(index + 1);
    const is = bindStateOf(status);
    for (const state of bindStates) metrics.bindState.set({ carrier, bind, state }, state === is ? 1 : 0);
    metrics.bindDesiredState.set({ carrier, bind }, desiredStates.indexOf(status.desiredState));
    metrics.bindWindowInUse.set({ carrier, bind }, status.windowUsed);
  }
}

/** By category: since when the oldest message waits of which nothing was sent. */
function oldestWaiting(inFlight: Iterable<InFlightMessage>): Map<Category, number> {
  const oldest = new Map<Category, number>();
  for (const { category, message, isOut, state } of inFlight) {
    if (isOut || state === 'settling' || state === 'rerouting') continue;
    const sinceMs = message.scheduledAtMs ?? message.acceptedAtMs;
    if (sinceMs < (oldest.get(category) ?? Number.POSITIVE_INFINITY)) oldest.set(category, sinceMs);
  }
  return oldest;
}
