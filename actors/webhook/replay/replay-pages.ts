// What is sent to an endpoint again, read from the event store: the events of messages, and the facts beside them
// (one-time passwords, blocks, clicks) of the types that it subscribes to, one such source after the other. Which events of
// a message are sent, the fold of all its events says (fan-out/client-events.ts); what is sent of a fact, fact-content.ts.
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
import type { MessageCallback } from '../../../model/message.ts';
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
import { limits } from '../../../platform/limits.ts';
import { queryEventStore } from '../../ask-event-store.ts';
import { contentOfFact } from '../fact-content.ts';
import { ClientEvents } from '../fan-out/client-events.ts';
import { targetOf } from '../fan-out/event-target.ts';

export type ReplayedEvent = {
  readonly eventId: EventId;
  readonly atMs: number;
  /** The message's callback_url; null: the endpoint's own URL. */
  readonly url: string | null;
  readonly content: WebhookContent;
};

/** Where a replay goes on: what comes behind it in its source, and the sources after that. */
export type ReplayPlace =
  | { readonly source: 'messages'; readonly after: string }
  | { readonly source: Fact['kind']; readonly after: FactPlace | null };

export type ReplayPage = {
  readonly result: 'found';
  readonly items: readonly ReplayedEvent[];
  /** Of the same source; null: it has no further page. */
  readonly next: ReplayPlace | null;
};

type Parts = { readonly bus: Bus; readonly clock: Clock };
type Time = { readonly sinceMs: number; readonly untilMs: number };
/** `recordedUntilMs`: only when all that happened until then is in the event store. */
type Asked = Time & { readonly recordedUntilMs?: number };

const typesOfFacts: { readonly [Kind in Fact['kind']]: readonly WebhookEventType[] } = webhookTypesOfFacts;
const kindsOfFacts = Object.keys(typesOfFacts) as Fact['kind'][];
const everyPlace: readonly ReplayPlace[] = [
  { source: 'messages', after: '' },
  ...kindsOfFacts.map((source) => ({ source, after: null })),
];

/** The beginning of each source that has something for this endpoint: messages with its callback_url, whatever it subscribes to. */
export function firstPlacesOf(endpoint: WebhookEndpoint): readonly ReplayPlace[] {
  return everyPlace.filter(({ source }) => source === 'messages' || isSubscribedTo(endpoint, source));
}

const isSubscribedTo = (endpoint: WebhookEndpoint, source: ReplayPlace['source']): boolean =>
  typesIn(source).some((type) => subscribesTo(endpoint, type));

/** The beginning of the source after this one; null: there is none. */
export function placeAfter(endpoint: WebhookEndpoint, { source }: ReplayPlace): ReplayPlace | null {
  const rank = (of: ReplayPlace['source']) => everyPlace.findIndex((each) => each.source === of);
  return firstPlacesOf(endpoint).find((each) => rank(each.source) > rank(source)) ?? null;
}

/** A page of the events of a time; it may be empty and not the last. */
export async function readPage(
  parts: Parts,
  endpoint: WebhookEndpoint,
  { sinceMs, untilMs, recordedUntilMs }: Asked,
  place: ReplayPlace,
): Promise<ReplayPage | Unavailable> {
  const time = { sinceMs, untilMs, ...(recordedUntilMs === undefined ? {} : { recordedUntilMs }) };
  if (place.source === 'messages') {
    const reply = await askForMessages(parts, endpoint, { ...time, afterMessageId: place.after });
    if (reply.result !== 'found') return reply;
    const { events, nextMessageId } = reply;
    const next = nextMessageId === null ? null : ({ source: 'messages', after: nextMessageId } as const);
    const items = itemsOf(parts, endpoint, events).filter(({ atMs }) => atMs >= sinceMs && atMs < untilMs);
    return { result: 'found', items, next };
  }
  const { source, after } = place;
  const reply = await askForFacts(parts, endpoint, source, { ...time, after });
  if (reply.result !== 'found') return reply;
  const next = reply.next === null ? null : { source, after: reply.next };
  return { result: 'found', items: reply.facts.flatMap(itemOfFact), next };
}

/** The first page of each source, when all that happened until `recordedUntilMs` is recorded. */
export async function readFirstPages(
  parts: Parts,
  endpoint: WebhookEndpoint,
  asked: Asked,
): Promise<readonly ReplayPage[] | Unavailable> {
  const pages: ReplayPage[] = [];
  for (const place of firstPlacesOf(endpoint)) {
    const page = await readPage(parts, endpoint, asked, place);
    if (page.result !== 'found') return page;
    pages.push(page);
  }
  return pages;
}

/** One event. `not_searched`: the time was too long, or had too many events, for it to be searched to its beginning. */
export async function findEvent(
  parts: Parts,
  endpoint: WebhookEndpoint,
  asked: Time & { readonly eventId: EventId },
): Promise<ReplayedEvent | 'not_found' | 'not_searched' | 'event_store_away'> {
  const { eventId, sinceMs, untilMs } = asked;
  const ask = (source: ReplayPlace['source'], beforeMs: number | null) => {
    const query = { eventId, sinceMs, untilMs, beforeMs };
    return source === 'messages' ? askForMessages(parts, endpoint, query) : askForFacts(parts, endpoint, source, query);
  };
  const giveUpAtMs = parts.clock.monotonicMs() + limits.delivery.replaySearchMs;
  const places = firstPlacesOf(endpoint);
  const isFirst = ({ source }: ReplayPlace) => isSubscribedTo(endpoint, source);
  // The history of messages is long: where only their callback_url counts, it comes last.
  for (const { source } of [...places.filter(isFirst), ...places.filter((each) => !isFirst(each))]) {
    let beforeMs: number | null = null;
    do {
      if (parts.clock.monotonicMs() >= giveUpAtMs) return 'not_searched';
      const reply: ReplayEventsReply | ReplayFactsReply = await ask(source, beforeMs);
      if (reply.result !== 'found') return 'event_store_away';
      const items = 'events' in reply ? itemsOf(parts, endpoint, reply.events) : reply.facts.flatMap(itemOfFact);
      const found = items.find((each) => each.eventId === eventId);
      if (found !== undefined) return found;
      beforeMs = reply.openBeforeMs;
    } while (beforeMs !== null);
  }
  return 'not_found';
}

const typesIn = (source: ReplayPlace['source']): readonly WebhookEventType[] =>
  source === 'messages' ? Object.values(webhookTypeOfKind) : typesOfFacts[source];

function askForMessages({ bus }: Parts, endpoint: WebhookEndpoint, which: object) {
  const { accountId, livemode, id } = endpoint;
  const only = isSubscribedTo(endpoint, 'messages') ? {} : { callbackOf: id };
  const query = { accountId, livemode, ...only, ...which };
  return queryEventStore<ReplayEventsReply>(bus, querySubjects.replayEvents, query);
}

function askForFacts({ bus }: Parts, endpoint: WebhookEndpoint, kind: Fact['kind'], which: object) {
  const { accountId, livemode } = endpoint;
  const types = typesOfFacts[kind].filter((type) => subscribesTo(endpoint, type));
  const query = { accountId, livemode, kind, types, ...which };
  return queryEventStore<ReplayFactsReply>(bus, querySubjects.replayFacts, query);
}

/** Of all events of some messages, those that the endpoint gets. */
function itemsOf({ clock }: Parts, endpoint: WebhookEndpoint, events: readonly string[]): readonly ReplayedEvent[] {
  // Every event of each message is there.
  const clientEvents = new ClientEvents(clock);
  const callbacks = new Map<string, MessageCallback>();
  return events.flatMap((packed): readonly ReplayedEvent[] => {
    const recorded = unpackEvent(Buffer.from(packed, 'base64'));
    if (recorded.callback !== undefined) callbacks.set(recorded.messageId, recorded.callback);
    const event = clientEvents.next(recorded);
    if (event === null || webhookTypeOfKind[event.kind] === undefined) return [];
    const target = targetOf(endpoint, event, callbacks.get(event.messageId));
    return target === null ? [] : [{ eventId: event.eventId, atMs: event.atMs, url: target.url, content: { event } }];
  });
}

function itemOfFact(fact: Fact): readonly ReplayedEvent[] {
  const content = contentOfFact(fact);
  return content === null ? [] : [{ eventId: fact.eventId, atMs: fact.atMs, url: null, content }];
}
