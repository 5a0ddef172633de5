// A delivery event from a row of sms_events, and whether it can become one. How it becomes one is in event-columns.ts.
import type { DeliveryEvent, EventKind, InboundFacts } from '../../model/delivery-event.ts';
import type { EventId, WebhookEndpointId } from '../../model/ids.ts';
import { keywords } from '../../model/keyword.ts';
import type { Category, Encoding, MessageCallback } from '../../model/message.ts';
import type { Cell } from './engine.ts';

/**
 * Whether the event fits into a row: a value that is too large for its column would be stored as another one. An event
 * that does not fit must never be inserted.
 */
export function fitsRow(e: DeliveryEvent): boolean {
  return (
    isEventId(e.eventId) &&
    isTime(e.atMs) &&
    isTime(e.acceptedAtMs) &&
    isTime(e.validUntilMs) &&
    isTime(e.scheduledAtMs ?? 0) &&
    isCount(e.hop, 0xff) &&
    isCount(e.attempt, 0xffff) &&
    isCount(e.segment, 0xff) &&
    isCount(e.segments, 0xff) &&
    isCount(e.epoch, Number.MAX_SAFE_INTEGER)
  );
}

export const eventIdChars = 26;
/** DateTime64 ends with the year 2299; this is 2286. */
const timeMsMax = 9_999_999_999_999;
const isTime = (ms: number): boolean => ms >= 0 && ms <= timeMsMax;

/** Characters that take one octet each. */
function isEventId(id: string): boolean {
  if (id.length !== eventIdChars) return false;
  let codes = 0;
  for (let at = 0; at < eventIdChars; at += 1) codes |= id.charCodeAt(at);
  return codes <= 0x7f;
}

const isCount = (count: number, max: number): boolean => Number.isInteger(count) && count >= 0 && count <= max;

/** What `eventOfRow` takes, in this order. */
export const eventColumns =
  'event_id, kind, toUnixTimestamp64Milli(at), message_id, account_id, key_id, carrier, hop, attempt, segment, ' +
  'segments, carrier_message_id, error, epoch, category, sender, recipient, encoding, livemode, client_reference, ' +
  'campaign_id, variant_id, template_id, toUnixTimestamp64Milli(accepted_at), toUnixTimestamp64Milli(valid_until), ' +
  'toUnixTimestamp64Milli(scheduled_at), keyword, inbound, callback';

/** The order of the fold, as SQL. */
export const eventOrder = 'message_id, stream_epoch, stream_seq, batch_index';

export function eventOfRow(at: readonly Cell[]): DeliveryEvent {
  return {
    eventId: at[0] as EventId,
    kind: at[1] as EventKind,
    atMs: at[2] as number,
    messageId: at[3] as string,
    accountId: at[4] as string,
    keyId: at[5] as string,
    carrier: at[6] as string,
    hop: at[7] as number,
    attempt: at[8] as number,
    segment: at[9] as number,
    segments: at[10] as number,
    carrierMessageId: orNull(at[11]),
    error: orNull(at[12]),
    epoch: at[13] as number,
    category: at[14] as Category,
    sender: at[15] as string,
    recipient: at[16] as string,
    encoding: at[17] as Encoding,
    livemode: at[18] === true,
    clientReference: orNull(at[19]),
    campaignId: orNull(at[20]),
    variantId: orNull(at[21]),
    templateId: orNull(at[22]),
    acceptedAtMs: at[23] as number,
    validUntilMs: at[24] as number,
    scheduledAtMs: at[25] === 0 ? null : (at[25] as number),
    ...(at[27] === '' || at[27] === undefined ? {} : { inbound: inboundOfText(at[26] as string, at[27] as string) }),
    ...(at[28] === '' || at[28] === undefined ? {} : { callback: callbackOfText(at[28] as string) }),
  };
}

/** The body stays sealed, and is stored only when the account's policy allows it. */
export function inboundText({ parts, receivedId, keepBody, sealedBody }: InboundFacts): string {
  const body = keepBody && sealedBody !== null ? { body: Buffer.from(sealedBody).toString('base64') } : {};
  return JSON.stringify({ parts, receivedId, ...body });
}

function inboundOfText(keyword: string, json: string): InboundFacts {
  const { parts, receivedId, body } = JSON.parse(json) as { parts: number; receivedId: string; body?: string };
  return {
    sealedBody: body === undefined ? null : Buffer.from(body, 'base64'),
    keepBody: body !== undefined,
    keyword: keywords.find((each) => each === keyword) ?? null,
    parts,
    receivedId,
  };
}

/** A URL has no blank: the WHATWG parser writes it as %20. */
export const callbackText = ({ endpointId, url }: MessageCallback): string => `${endpointId} ${url}`;

function callbackOfText(text: string): MessageCallback {
  const blank = text.indexOf(' ');
  return { endpointId: text.slice(0, blank) as WebhookEndpointId, url: text.slice(blank + 1) };
}

/** Columns of text have '' where there is nothing. */
export function orNull(cell: Cell | undefined): string | null {
  return cell === '' || cell === undefined ? null : (cell as string);
}
