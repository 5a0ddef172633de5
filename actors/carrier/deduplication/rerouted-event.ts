// Writes and reads the error field of a `rerouted` event: the carrier and why. It must name the carrier: after a crash
// the publish is repeated to the same one, or the message could reach two.
import type { DeliveryEvent } from '../../../model/delivery-event.ts';

export type Rerouted = { readonly to: string; readonly why: string; readonly atMs: number };

const form = /^to ([a-z0-9-]+): (.*)$/s;

export function reroutedText(to: string, why: string): string {
  return `to ${to}: ${why}`;
}

/** Null when it names no carrier: then the target must not be guessed. */
export function readRerouted(event: Pick<DeliveryEvent, 'error' | 'atMs'>): Rerouted | null {
  const parts = form.exec(event.error ?? '');
  return parts === null ? null : { to: parts[1] ?? '', why: parts[2] ?? '', atMs: event.atMs };
}
