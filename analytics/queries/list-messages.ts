// Lists messages to or from subscribers, newest first by id (ids sort by time). Refused requests are no messages: they
// are listed only with blocked ones. Filters on what all events of a message share run in ClickHouse; the status exists
// only after folding, so with it a bounded number of messages is read and the page may be short, with a cursor. A page
// with a cursor is empty only when the search time ended first: many clients stop at an empty page.
import type { DeliveryEvent } from '../../model/delivery-event.ts';
import { firstMessageIdOf, isMessageId } from '../../model/ids.ts';
import { type NumberHashes, noNumber } from '../../model/number-hash.ts';
import { systemClock } from '../../platform/clock.ts';
import { maskNumber } from '../../platform/log.ts';
import { limits } from '../../platform/limits.ts';
import type { ListMessages, ListMessagesReply, MessageView } from '../contract.ts';
import { type Engine, type Params, shownRows } from '../store/engine.ts';
import { type Sources, messageViewOf } from './get-message.ts';
import { eventsOfMany } from './recorded-events.ts';

type Page = { readonly messages: readonly MessageView[]; readonly nextCursor: string | null };

export async function listMessages(engine: Engine, sources: Sources, query: ListMessages): Promise<ListMessagesReply> {
  const limit = query.limit ?? limits.queries.listLimitDefault;
  if (!Number.isInteger(limit) || limit < 1 || limit > limits.queries.listLimitMax) {
    return { result: 'bad_request', detail: `limit must be from 1 to ${limits.queries.listLimitMax}` };
  }
  const before = query.cursor === undefined ? null : idOfCursor(query.cursor);
  if (query.cursor !== undefined && before === null) return { result: 'bad_request', detail: 'not a cursor' };
  const { clock = systemClock } = sources;
  const giveUpAtMs = clock.monotonicMs() + limits.queries.listSearchMs;
  const look = () => pageBefore(engine, sources, query, limit, before, giveUpAtMs);
  const looked = await sources.upToDate.surely(look);
  if (looked.result === 'unavailable') {
    // Messages found are shown; only the absence of messages cannot be confirmed.
    const recordedTo = sources.upToDate.recordedTo();
    const page = await look();
    return page.messages.length === 0 ? looked : { result: 'found', recordedTo, ...page };
  }
  const { value: page, recordedTo } = looked;
  const isNone = page.messages.length === 0 && page.nextCursor === null;
  return isNone ? { result: 'none', recordedTo } : { result: 'found', recordedTo, ...page };
}

async function pageBefore(
  engine: Engine,
  sources: Sources,
  query: ListMessages,
  limit: number,
  from: string | null,
  giveUpAtMs: number,
): Promise<Page> {
  const { newest, oldest } = idsOf(query);
  let before = newest === null || (from !== null && from < newest) ? from : newest;
  const { clock = systemClock } = sources;
  const messages: MessageView[] = [];
  let scanned = 0;
  let windowRows: number = limits.queries.listWindowRows;
  for (;;) {
    const wanted = query.status === undefined ? limit - messages.length + 1 : limits.queries.messagesPerReadMax;
    const { ids, goOnBefore } = await idsBefore(engine, sources, query, { before, oldest }, wanted, windowRows);
    for (const view of await viewsOf(sources, query.accountId, ids)) {
      if (messages.length === limit) return { messages, nextCursor: cursorOf(messages.at(-1) as MessageView) };
      if (query.status === undefined || view.status === query.status) messages.push(view);
    }
    scanned += ids.length;
    if (goOnBefore === null) return { messages, nextCursor: null };
    before = goOnBefore;
    if (ids.length < wanted) windowRows = Math.min(windowRows * 2, limits.queries.listWindowRowsMax);
    const enough = messages.length > 0 && scanned >= limits.queries.listScannedMax;
    if (enough || clock.monotonicMs() >= giveUpAtMs) return { messages, nextCursor: encoded(before) };
  }
}

/** The range of ids for the requested times: an id is made before its message is accepted, or at that time. */
function idsOf({ createdAfterMs, createdBeforeMs }: ListMessages): {
  readonly newest: string | null;
  readonly oldest: string | null;
} {
  const { idAheadMsMax, idBehindMsMax } = limits.queries;
  return {
    newest: createdBeforeMs === undefined ? null : firstMessageIdOf(createdBeforeMs + idAheadMsMax),
    oldest: createdAfterMs === undefined ? null : firstMessageIdOf(createdAfterMs - idBehindMsMax),
  };
}

/**
 * The newest `wanted` ids below `before` that may match, recorded or unflushed. `goOnBefore` null: there are no older
 * ones. The rows of an account are searched in windows, so that no statement occupies the engine for long when few
 * match.
 */
async function idsBefore(
  engine: Engine,
  { unflushed, numbers }: Sources,
  query: ListMessages,
  { before, oldest }: { readonly before: string | null; readonly oldest: string | null },
  wanted: number,
  windowRows: number,
): Promise<{ readonly ids: readonly string[]; readonly goOnBefore: string | null }> {
  const windowEnd = await endOfWindow(engine, query, before, windowRows);
  const isLast = windowEnd === null || (oldest !== null && windowEnd <= oldest);
  const from = isLast ? oldest : windowEnd;
  const ids = new Set<string>();
  for (const event of unflushed.messages()) {
    const { messageId } = event;
    if ((before === null || messageId < before) && (from === null || messageId >= from) && matches(event, query))
      ids.add(messageId);
  }
  for (const id of await recordedIds(engine, numbers, query, before, from, wanted)) ids.add(id);
  const newest = [...ids].sort((a, b) => (a < b ? 1 : -1)).slice(0, wanted);
  return { ids: newest, goOnBefore: newest.length < wanted ? (isLast ? null : from) : (newest.at(-1) as string) };
}

/**
 * Event kinds of which every message with this status has one, so that others are not read; null without such a kind.
 */
function evidenceOf({ status }: ListMessages): readonly string[] | null {
  if (status === undefined || status === 'accepted' || status === 'received') return null;
  return status === 'blocked' ? ['blocked', 'refused'] : [status];
}

/** The id at which the window of rows below `before` ends; null when it includes the oldest. */
async function endOfWindow(
  engine: Engine,
  query: ListMessages,
  before: string | null,
  windowRows: number,
): Promise<string | null> {
  const rows = await shownRows(
    engine,
    `SELECT message_id FROM sms_events WHERE account_id = {accountId:String}
     ${before === null ? '' : 'AND message_id < {before:String}'}
     ORDER BY account_id DESC, message_id DESC LIMIT 1 OFFSET ${windowRows}`,
    { accountId: query.accountId, ...(before === null ? {} : { before }) },
  );
  return (rows[0]?.[0] as string | undefined) ?? null;
}

async function recordedIds(
  engine: Engine,
  numbers: NumberHashes,
  query: ListMessages,
  before: string | null,
  from: string | null,
  wanted: number,
): Promise<readonly string[]> {
  const params: Record<string, Params[string]> = { accountId: query.accountId, wanted };
  const conditions = ['account_id = {accountId:String}'];
  const add = (name: string, value: Params[string] | null | undefined, condition: string) => {
    if (value === undefined || value === null) return;
    params[name] = value;
    conditions.push(condition);
  };
  add('before', before, 'message_id < {before:String}');
  add('from', from, 'message_id >= {from:String}');
  add('evidence', evidenceOf(query), 'kind IN {evidence:Array(String)}');
  add('livemode', query.livemode, 'livemode = {livemode:Bool}');
  conditions.push(wantsInbound(query) ? "kind = 'received'" : `kind NOT IN (${standAlone(query)})`);
  const { subscriber, client } = endsOf(query);
  if (subscriber !== undefined) {
    // By the hash: of old messages the number is cut. What is no number in full has none, nor has what was recorded
    // before schema 008. Only the masked number of a refused request is stored.
    const hash = numbers.of(subscriber);
    const isMasked = hash !== noNumber && wantsRefused(query);
    params['written'] = isMasked ? [subscriber, maskNumber(subscriber)] : [subscriber];
    const asWritten = '(recipient_hash = 0 AND recipient IN {written:Array(String)})';
    add('hash', hash, hash === noNumber ? asWritten : `(recipient_hash = {hash:UInt64} OR ${asWritten})`);
  }
  add('sender', client, 'sender = {sender:String}');
  add('category', query.category, 'category = {category:String}');
  add('reference', query.clientReference, 'client_reference = {reference:String}');
  add('afterMs', query.createdAfterMs, 'accepted_at >= fromUnixTimestamp64Milli({afterMs:Int64})');
  add('beforeMs', query.createdBeforeMs, 'accepted_at < fromUnixTimestamp64Milli({beforeMs:Int64})');
  // In the order of the primary key, so that reading ends as soon as the page is full.
  const rows = await shownRows(
    engine,
    `SELECT message_id FROM sms_events WHERE ${conditions.join(' AND ')}
     ORDER BY account_id DESC, message_id DESC LIMIT 1 BY message_id LIMIT {wanted:UInt32}`,
    params,
  );
  return rows.map(([id]) => id as string);
}

async function viewsOf(
  { recorded, unflushed }: Sources,
  accountId: string,
  ids: readonly string[],
): Promise<readonly MessageView[]> {
  const views: MessageView[] = [];
  for (let from = 0; from < ids.length; from += limits.queries.messagesPerReadMax) {
    const page = ids.slice(from, from + limits.queries.messagesPerReadMax);
    const keys = page.map((messageId) => ({ accountId, messageId }));
    for (const events of await eventsOfMany(recorded, unflushed, keys, 'account')) {
      const view = messageViewOf(events);
      if (view !== null) views.push(view);
    }
  }
  return views;
}

function matches(event: DeliveryEvent, query: ListMessages): boolean {
  const { subscriber, client } = endsOf(query);
  return (
    event.accountId === query.accountId &&
    (query.livemode === undefined || event.livemode === query.livemode) &&
    isOfKind(event.kind, query) &&
    (subscriber === undefined || event.recipient === recipientAs(event, subscriber)) &&
    (client === undefined || event.sender === client) &&
    (query.category === undefined || event.category === query.category) &&
    (query.clientReference === undefined || event.clientReference === query.clientReference) &&
    (query.createdAfterMs === undefined || event.acceptedAtMs >= query.createdAfterMs) &&
    (query.createdBeforeMs === undefined || event.acceptedAtMs < query.createdBeforeMs)
  );
}

const wantsInbound = ({ direction, status }: ListMessages) => direction === 'inbound' || status === 'received';
/** The column `sender` has the client's number in both directions. */
const endsOf = (query: ListMessages) =>
  wantsInbound(query) ? { subscriber: query.from, client: query.to } : { subscriber: query.to, client: query.from };

/** Event kinds that do not belong to a message to a subscriber. */
const standAlone = (query: ListMessages) =>
  wantsRefused(query) ? "'received', 'opted_out', 'opted_in'" : "'refused', 'received', 'opted_out', 'opted_in'";

function isOfKind(kind: DeliveryEvent['kind'], query: ListMessages): boolean {
  if (wantsInbound(query)) return kind === 'received';
  if (kind === 'received' || kind === 'opted_out' || kind === 'opted_in') return false;
  return kind !== 'refused' || wantsRefused(query);
}

const wantsRefused = (query: ListMessages) => query.status === 'blocked';
const recipientAs = (event: DeliveryEvent, to: string) => (event.kind === 'refused' ? maskNumber(to) : to);

const cursorOf = (last: MessageView): string => encoded(last.id);
const encoded = (id: string): string => Buffer.from(id).toString('base64url');

function idOfCursor(cursor: string): string | null {
  const id = Buffer.from(cursor, 'base64url').toString();
  return isMessageId(id) ? id : null;
}
