// Which events of EVENTS endpoints were handed and have neither taken nor stored: what has to be handed to them again
// after a crash.
import type { WebhookEndpointId } from '../../../model/ids.ts';

type OfEndpoint = { readonly sequences: Set<number>; last: number; isSorted: boolean };

export class Outstanding {
  readonly #of = new Map<WebhookEndpointId, OfEndpoint>();

  add(endpointId: WebhookEndpointId, sequence: number): void {
    let of = this.#of.get(endpointId);
    if (of === undefined) {
      of = { sequences: new Set(), last: 0, isSorted: true };
      this.#of.set(endpointId, of);
    }
    // An event that waited for the event store comes later than its place.
    if (sequence < of.last) of.isSorted = false;
    of.last = sequence;
    of.sequences.add(sequence);
  }

  remove(endpointId: WebhookEndpointId, sequence: number): void {
    const of = this.#of.get(endpointId);
    if (of?.sequences.delete(sequence) === true && of.sequences.size === 0) this.#of.delete(endpointId);
  }

  /** The sequence of the first one of each endpoint that has any. */
  first(): ReadonlyMap<WebhookEndpointId, number> {
    return new Map([...this.#of].map(([endpointId, of]) => [endpointId, firstOf(of)]));
  }

  clear(): void {
    this.#of.clear();
  }
}

function firstOf({ sequences, isSorted }: OfEndpoint): number {
  let least = Number.POSITIVE_INFINITY;
  for (const each of sequences) {
    // A set keeps the order in which they were added.
    if (isSorted) return each;
    least = Math.min(least, each);
  }
  return least;
}
