// What became of one message at each carrier it was given to, from its events: for one-time passwords, whose clients
// want to see which way was slow. Pure.
import type { DeliveryEvent } from '../../model/delivery-event.ts';
import type { SentHop } from '../contract.ts';

/** In order of the hops; repeats of events are harmless. */
export function hopsOf(events: readonly DeliveryEvent[]): readonly SentHop[] {
  const byHop = Map.groupBy(
    events.filter(({ carrier }) => carrier !== ''),
    ({ hop }) => hop,
  );
  return [...byHop].toSorted(([one], [other]) => one - other).map(([hop, of]) => hopOf(hop, of));
}

function hopOf(hop: number, events: readonly DeliveryEvent[]): SentHop {
  const [first] = events;
  const submittedAtMs = firstOf(events, 'submitted');
  const deliveredAtMs = firstOf(events, 'delivered');
  const last = events.findLast(({ kind }) => !steps.includes(kind)) ?? events.at(-1);
  const status = last === undefined || steps.includes(last.kind) ? 'accepted' : last.kind;
  return {
    carrier: first?.carrier ?? null,
    hop,
    status,
    acceptedToSubmittedMs: submittedAtMs === null || first === undefined ? null : submittedAtMs - first.acceptedAtMs,
    submittedToDeliveredMs: deliveredAtMs === null || submittedAtMs === null ? null : deliveredAtMs - submittedAtMs,
  };
}

/** Kinds that are no result: the message waits for this carrier, or is on its way to it. */
const steps: readonly string[] = ['accepted', 'scheduled', 'intent', 'deferred', 'hedged'];

function firstOf(events: readonly DeliveryEvent[], kind: DeliveryEvent['kind']): number | null {
  return events.find((event) => event.kind === kind)?.atMs ?? null;
}
