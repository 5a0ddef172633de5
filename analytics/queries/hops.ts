// What became of one message at each carrier it was given to, from its events: for one-time passwords, whose clients
// want to see which way was slow. Pure.
import { controlGroup, hedgeRuleOf } from '../../model/copies.ts';
import type { DeliveryEvent } from '../../model/delivery-event.ts';
import type { SentHop } from '../contract.ts';

/** In order of the hops; repeats of events are harmless. */
export function hopsOf(events: readonly DeliveryEvent[]): readonly SentHop[] {
  const byHop = Map.groupBy(
    events.filter(({ carrier }) => carrier !== ''),
    ({ hop }) => hop,
  );
  const hedged = events.find(({ kind, error }) => kind === 'hedged' && error?.startsWith(controlGroup) === false);
  return [...byHop]
    .toSorted(([one], [other]) => one - other)
    .map(([hop, of]) => hopOf(hop, of, hedged !== undefined && hop > hedged.hop ? hedged : null));
}

function hopOf(hop: number, events: readonly DeliveryEvent[], hedged: DeliveryEvent | null): SentHop {
  const [first] = events;
  const submittedAtMs = firstOf(events, 'submitted');
  const deliveredAtMs = firstOf(events, 'delivered');
  const results = events.filter(({ kind }) => !steps.includes(kind));
  // A cancelled copy gets a receipt DELETED too.
  const canceled = deliveredAtMs === null && results.some(({ kind }) => kind === 'canceled');
  const status = canceled ? 'canceled' : (results.at(-1)?.kind ?? 'accepted');
  return {
    carrier: first?.carrier ?? null,
    hop,
    status,
    hedgedBy: hedged === null ? null : hedgeRuleOf(hedged.error ?? ''),
    acceptedToSubmittedMs: submittedAtMs === null || first === undefined ? null : submittedAtMs - first.acceptedAtMs,
    submittedToDeliveredMs: deliveredAtMs === null || submittedAtMs === null ? null : deliveredAtMs - submittedAtMs,
  };
}

/** Kinds that are no result: the message waits for this carrier, or is on its way to it. */
const steps: readonly string[] = ['accepted', 'scheduled', 'intent', 'deferred', 'hedged'];

function firstOf(events: readonly DeliveryEvent[], kind: DeliveryEvent['kind']): number | null {
  return events.find((event) => event.kind === kind)?.atMs ?? null;
}
