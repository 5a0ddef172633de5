// The order in which the carriers of a route are tried. Deterministic: the same message id gives the same order, so
// that a repeat under the same idempotency key takes the same route. Distribution by weight is rendezvous hashing:
// when a carrier leaves, only its own messages move. It knows neither health nor capabilities.
import type { CarrierOffer, RouteChoice } from '../contract.ts';

/** All of `offers`, the first to be tried first. */
export function orderOf(offers: readonly CarrierOffer[], choose: RouteChoice, messageId: string): CarrierOffer[] {
  switch (choose) {
    case 'listed':
      return [...offers];
    case 'weighted':
      return byWeight(offers, messageId);
    case 'cheapest':
      // The sort is stable: among equals the order by weight stays.
      return byWeight(offers, messageId).sort((one, other) => one.cost - other.cost);
  }
}

/** Whether the order is the same for every message. */
export function isFixed(offers: readonly CarrierOffer[], choose: RouteChoice): boolean {
  if (choose === 'listed' || offers.length < 2) return true;
  return choose === 'cheapest' && new Set(offers.map((each) => each.cost)).size === offers.length;
}

/**
 * Each carrier draws a time until its first arrival, exponentially distributed with its weight as the rate: the
 * shortest wins, and wins in proportion to its weight. Weight 0 never arrives and comes last.
 */
function byWeight(offers: readonly CarrierOffer[], messageId: string): CarrierOffer[] {
  const drawn = offers.map((offer) => ({
    offer,
    arrival: offer.weight > 0 ? -Math.log(unitOf(messageId, offer.name)) / offer.weight : Number.POSITIVE_INFINITY,
  }));
  return drawn
    .sort((one, other) => (one.arrival < other.arrival ? -1 : one.arrival > other.arrival ? 1 : 0))
    .map((each) => each.offer);
}

/** Uniform in (0, 1]: FNV-1a over both texts, mixed until every bit depends on every other (murmur3's finalizer). */
function unitOf(messageId: string, carrier: string): number {
  let hash = 0x811c9dc5;
  for (let at = 0; at < carrier.length; at += 1) hash = Math.imul(hash ^ carrier.charCodeAt(at), 0x01000193);
  for (let at = 0; at < messageId.length; at += 1) hash = Math.imul(hash ^ messageId.charCodeAt(at), 0x01000193);
  hash = Math.imul(hash ^ (hash >>> 16), 0x85ebca6b);
  hash = Math.imul(hash ^ (hash >>> 13), 0xc2b2ae35);
  return (((hash ^ (hash >>> 16)) >>> 0) + 1) / 4_294_967_296;
}
