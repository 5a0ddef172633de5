// What is sent to an endpoint again, read from the event store in pages: the events of messages, and the facts beside
// them (one-time passwords, blocks, clicks) of the types that it subscribes to. Which events of a message are sent, the
// fold of all its events says (fan-out/client-events.ts); what is sent of a fact, fact-content.ts.
import {
  type FactPlace,
  type ReplayEventsReply,
  type ReplayFactsReply,
  type Unavailable,
  querySubjects,
} from '../../../analytics/contract.ts';
import type { Bus } from '../../../cluster/bus/connect.ts';
import type { Fact } from '../../../model/fact.ts';
import type { EventId } from '../../../model/ids.ts';
import { unpackEvent } from '../../../model/records/event-record.ts';
import type { WebhookContent } from '../../../model/records/webhook-record.ts';
import {
  type WebhookEndpoint,
  type WebhookEventType,
  subscribesTo,
  webhookTypeOfKind,
  webhookTypesOfFacts,
} from '../../../model/webhook-endpoint.ts';
import type { Clock } from '../../../platform/clock.ts';
import { queryEventStore } from '../../ask-event-store.ts';
import type { ReplayRequest } from '../contract.ts';
import { contentOfFact } from '../fact-content.ts';
import { ClientEvents } from '../fan-out/client-events.ts';

export type ReplayedEvent = { readonly eventId: EventId; readonly atMs: number; readonly content: WebhookContent };

export type ReplayPage = {
  readonly result: 'found';
  readonly items: readonly ReplayedEvent[];
  /** About how many there are on all pages. */
  readonly total: number;
  /** Null: no further page. */
  readonly next: ReadPage | null;
};
type ReadPage = () => Promise<ReplayPage | Unavailable>;

type Parts = { readonly bus: Bus; readonly clock: Clock };

const typesOfFacts: { readonly [Kind in Fact['kind']]: readonly WebhookEventType[] } = webhookTypesOfFacts;

/** One for each place in the event store that has something for this endpoint; each leads to its further pages. */
export function firstPagesOf(
  { bus, clock }: Parts,
  endpoint: WebhookEndpoint,
  request: ReplayRequest,
): readonly ReadPage[] {
  const { accountId, livemode } = endpoint;
  const which =
    'eventId' in request ? { eventId: request.eventId } : { sinceMs: request.sinceMs, untilMs: request.untilMs };
  const isWanted = (type: WebhookEventType) => subscribesTo(endpoint, type);

  async function messagesPage(afterMessageId: string): Promise<ReplayPage | Unavailable> {
    const query = { accountId, livemode, ...which, afterMessageId };
    const reply = await queryEventStore<ReplayEventsReply>(bus, querySubjects.replayEvents, query);
    if (reply.result !== 'found') return reply;
    const { events, nextMessageId, total } = reply;
    // Every event of each message is there.
    const clientEvents = new ClientEvents(clock);
    const items = events.flatMap((packed): ReplayedEvent[] => {
      const event = clientEvents.next(unpackEvent(Buffer.from(packed, 'base64')));
      const type = event === null ? undefined : webhookTypeOfKind[event.kind];
      if (event === null || type === undefined || !isWanted(type) || !isAsked(request, event)) return [];
      return [{ eventId: event.eventId, atMs: event.atMs, content: { event } }];
    });
    const next = nextMessageId === null ? null : () => messagesPage(nextMessageId);
    return { result: 'found', items, total: total ?? 0, next };
  }

  async function factsPage(kind: Fact['kind'], after: FactPlace | null): Promise<ReplayPage | Unavailable> {
    const query = { accountId, livemode, ...which, kind, types: typesOfFacts[kind].filter(isWanted), after };
    const reply = await queryEventStore<ReplayFactsReply>(bus, querySubjects.replayFacts, query);
    if (reply.result !== 'found') return reply;
    const { facts, next: place, total } = reply;
    const items = facts.flatMap((fact): ReplayedEvent[] => {
      const content = contentOfFact(fact);
      return content === null ? [] : [{ eventId: fact.eventId, atMs: fact.atMs, content }];
    });
    const next = place === null ? null : () => factsPage(kind, place);
    return { result: 'found', items, total: total ?? 0, next };
  }

  const ofMessages = Object.values(webhookTypeOfKind).some(isWanted);
  const ofFacts = (Object.keys(typesOfFacts) as Fact['kind'][]).filter((kind) => typesOfFacts[kind].some(isWanted));
  return [...(ofMessages ? [() => messagesPage('')] : []), ...ofFacts.map((kind) => () => factsPage(kind, null))];
}

/** Of whole messages, the events that are asked for. */
function isAsked(request: ReplayRequest, { eventId, atMs }: Pick<ReplayedEvent, 'eventId' | 'atMs'>): boolean {
  return 'eventId' in request ? eventId === request.eventId : atMs >= request.sinceMs && atMs < request.untilMs;
}
