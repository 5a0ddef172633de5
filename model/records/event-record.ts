// A batch of delivery events as octets on the bus: [version, [event, …]], each event an array with frozen positions as
// in message-record.ts. The kind is an index of `eventKinds`, which is append-only for that reason. Each event is read
// by itself: one from a newer version that this one cannot read does not block the others (docs/upgrades.md has the
// rule for both versions).
import { type DeliveryEvent, type InboundFacts, eventKinds } from '../delivery-event.ts';
import type { EventId } from '../ids.ts';
import { keywords } from '../keyword.ts';
import { categories } from '../message.ts';
import { assert } from '../../platform/assert.ts';
import { RejectMessage } from '../../platform/errors.ts';
import { limits } from '../../platform/limits.ts';
import { metrics } from '../../platform/telemetry.ts';
import { callbackOf, callbackFields, packr } from './record-positions.ts';

const eventRecordVersion = 1;

export function encodeEvents(events: readonly DeliveryEvent[]): Buffer {
  return packr.pack([eventRecordVersion, events.map(positionsOfEvent)]);
}

/** An event that this version cannot read, unchanged, with the reason. */
export type UnreadEvent = { readonly raw: unknown; readonly why: string };
export type EventBatch = { readonly events: readonly DeliveryEvent[]; readonly unread: readonly UnreadEvent[] };

/** Splits a batch into readable and unreadable events. Throws RejectMessage('poison_record') for other octets. */
export function readBatch(octets: Uint8Array): EventBatch {
  let batch: readonly unknown[];
  try {
    const [version, events] = packr.unpack(octets) as [unknown, unknown];
    if (version !== eventRecordVersion) throw new Error(`record version ${String(version)}`);
    if (!Array.isArray(events)) throw new Error('no list of events');
    batch = events;
  } catch (error) {
    throw new RejectMessage('poison_record', `not a readable batch of events: ${String(error)}`);
  }
  const events: DeliveryEvent[] = [];
  const unread: UnreadEvent[] = [];
  for (const raw of batch) {
    const why = whyUnread(raw);
    if (why === null) events.push(eventOf(raw as readonly unknown[]));
    else unread.push({ raw, why });
  }
  return { events, unread };
}

/** The readable events of a batch; the others are counted for `reader`. Throws as readBatch does. */
export function decodeEvents(octets: Uint8Array, reader: EventReader = 'other'): readonly DeliveryEvent[] {
  const { events, unread } = readBatch(octets);
  if (unread.length > 0) metrics.eventsUnread.inc({ reader }, unread.length);
  return events;
}
/** The reader, as a label of the metric. */
export type EventReader = 'recorder' | 'carrier' | 'other';

/** A single event in the memory of one process: without a version, unlike a batch. */
export const packEvent = (event: DeliveryEvent): Buffer => packr.pack(positionsOfEvent(event));
export const unpackEvent = (octets: Uint8Array): DeliveryEvent => eventOf(packr.unpack(octets) as unknown[]);

/** An event from `positionsOfEvent`. Throws when this version cannot read them. */
export function eventOfPositions(at: readonly unknown[]): DeliveryEvent {
  const why = whyUnread(at);
  if (why !== null) throw new Error(why);
  return eventOf(at);
}

/**
 * The readable events of a batch of accounts that `isWanted` takes, each with its place in the batch. The others are not
 * made into objects: most accounts have nobody who wants to know.
 */
export function eventsOf(
  octets: Uint8Array,
  isWanted: (accountId: string, livemode: boolean) => boolean,
): readonly { readonly event: DeliveryEvent; readonly at: number }[] {
  const [version, batch] = packr.unpack(octets) as [unknown, unknown];
  if (version !== eventRecordVersion || !Array.isArray(batch)) return [];
  const wanted: { event: DeliveryEvent; at: number }[] = [];
  for (let at = 0; at < batch.length; at += 1) {
    const raw = batch[at] as readonly unknown[];
    if (!Array.isArray(raw) || !isWanted(raw[4] as string, raw[18] !== false)) continue;
    if (whyUnread(raw) === null) wanted.push({ event: eventOf(raw), at });
  }
  return wanted;
}

/** A batch of unread events: a version that can read them can publish it to EVENTS again. */
export function encodeUnread(unread: readonly UnreadEvent[]): Buffer {
  return packr.pack([eventRecordVersion, unread.map(({ raw }) => raw)]);
}

/** An event that can be read but not stored. */
export const unreadOf = (event: DeliveryEvent, why: string): UnreadEvent => ({ raw: positionsOfEvent(event), why });

/** An event that certainly fits into a record: texts cut to the bound, no body. */
export function shortenedEvent(event: DeliveryEvent): DeliveryEvent {
  const { shortenedCharsMax } = limits.events;
  const texts = Object.entries(event).map(([name, value]) => [
    name,
    typeof value === 'string' ? value.slice(0, shortenedCharsMax) : value,
  ]);
  const shortened = Object.fromEntries(texts) as DeliveryEvent;
  if (event.inbound === undefined) return shortened;
  return { ...shortened, inbound: { ...event.inbound, sealedBody: null } };
}

const callbackAt = 28;

/** The positions of one event, in a batch or inside of another record. */
export function positionsOfEvent(event: DeliveryEvent): unknown[] {
  const positions: unknown[] = [
    event.eventId,
    eventKinds.indexOf(event.kind),
    event.atMs,
    event.messageId,
    event.accountId,
    event.keyId,
    event.carrier,
    event.hop,
    event.attempt,
    event.segment,
    event.segments,
    event.carrierMessageId,
    event.error,
    event.epoch,
    categories.indexOf(event.category),
    event.sender,
    event.recipient,
    event.encoding === 'ucs2',
    event.livemode,
    event.clientReference,
    event.campaignId,
    event.variantId,
    event.templateId,
    event.acceptedAtMs,
    event.validUntilMs,
    event.scheduledAtMs,
  ];
  // Nearly all events are about messages to subscribers and end here.
  if (event.inbound !== undefined) positions.push(inboundPositionsOf(event.inbound));
  else if (event.progress !== undefined) positions.push(null, event.progress);
  if (event.callback !== undefined) {
    while (positions.length < callbackAt) positions.push(null);
    positions.push(callbackFields(event.callback));
  }
  return positions;
}

function inboundPositionsOf({ sealedBody, keepBody, keyword, parts, receivedId }: InboundFacts): unknown[] {
  return [sealedBody, keepBody, keyword === null ? -1 : keywords.indexOf(keyword), parts, receivedId];
}

function eventOf(at: readonly unknown[]): DeliveryEvent {
  const kind = eventKinds[at[1] as number];
  const category = categories[at[14] as number];
  assert(kind !== undefined && category !== undefined, 'an event that cannot be read was taken for one that can');
  return {
    eventId: at[0] as EventId,
    kind,
    atMs: at[2] as number,
    messageId: at[3] as string,
    accountId: at[4] as string,
    keyId: at[5] as string,
    carrier: at[6] as string,
    hop: at[7] as number,
    attempt: at[8] as number,
    segment: at[9] as number,
    segments: at[10] as number,
    carrierMessageId: (at[11] as string | null) ?? null,
    error: (at[12] as string | null) ?? null,
    epoch: (at[13] as number) ?? 0,
    category,
    sender: at[15] as string,
    recipient: at[16] as string,
    encoding: at[17] === true ? 'ucs2' : 'gsm7',
    livemode: at[18] !== false,
    clientReference: (at[19] as string | null) ?? null,
    campaignId: (at[20] as string | null) ?? null,
    variantId: (at[21] as string | null) ?? null,
    templateId: (at[22] as string | null) ?? null,
    acceptedAtMs: at[23] as number,
    validUntilMs: at[24] as number,
    scheduledAtMs: typeof at[25] === 'number' ? at[25] : null,
    ...(typeof at[27] === 'number' ? { progress: at[27] } : {}),
    ...callbackOf(at[callbackAt]),
    ...(Array.isArray(at[26]) ? { inbound: inboundOf(at[26] as unknown[], at[3] as string) } : {}),
  };
}

function inboundOf(at: readonly unknown[], messageId: string): InboundFacts {
  return {
    sealedBody: at[0] instanceof Uint8Array ? at[0] : null,
    keepBody: at[1] === true,
    keyword: keywords[at[2] as number] ?? null,
    parts: typeof at[3] === 'number' ? at[3] : 1,
    receivedId: typeof at[4] === 'string' ? at[4] : messageId,
  };
}

/** Why this version cannot read the event; null when it can. */
function whyUnread(at: unknown): string | null {
  if (!Array.isArray(at) || !isWhole(at)) return 'not an event';
  if (eventKinds[at[1] as number] === undefined) return `an event of the unknown kind ${String(at[1])}`;
  return categories[at[14] as number] === undefined ? `an event of the unknown category ${String(at[14])}` : null;
}

/** Checks the fields that readers calculate with or look up by; every record of version 1 has them. */
function isWhole(at: readonly unknown[]): boolean {
  for (const place of [0, 3, 4, 6]) if (typeof at[place] !== 'string') return false;
  for (const place of [2, 7, 8, 9, 10, 23, 24]) if (typeof at[place] !== 'number') return false;
  return true;
}
