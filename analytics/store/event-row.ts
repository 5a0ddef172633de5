// A delivery event as a row of sms_events and back. Only this file knows the columns and their order. Rows are
// tab-separated text: the cheapest format to build and parse here (docs/decisions/0004).
import type { DeliveryEvent, EventKind, InboundFacts } from '../../model/delivery-event.ts';
import type { EventId } from '../../model/ids.ts';
import { keywords } from '../../model/keyword.ts';
import type { Category, Encoding } from '../../model/message.ts';
import type { Cell } from './engine.ts';
import { tsvText as text } from './tab-separated.ts';

/** The position of an event in the stream: it defines the order of the fold for every reader. */
type StreamPosition = {
  /** When the stream was created (ms): sequences of another incarnation are not comparable. */
  readonly streamEpoch: number;
  readonly streamSeq: number;
  /** Index within the record's expanded batch. */
  readonly batchIndex: number;
};

export const insertColumns =
  'event_id, kind, at, message_id, account_id, key_id, carrier, hop, attempt, segment, segments, carrier_message_id, ' +
  'error, epoch, category, sender, recipient, encoding, livemode, client_reference, campaign_id, variant_id, ' +
  'template_id, accepted_at, valid_until, stream_epoch, stream_seq, batch_index, recorded_at, scheduled_at, ' +
  'keyword, inbound, recipient_hash';

/** `recipientHash`: model/number-hash.ts. */
export function rowOf(
  event: DeliveryEvent,
  place: StreamPosition,
  recordedAtMs: number,
  recipientHash: string,
): string {
  const e = event;
  return (
    `${e.eventId}\t${e.kind}\t${time(e.atMs)}\t${text(e.messageId)}\t${text(e.accountId)}\t${text(e.keyId)}\t` +
    `${text(e.carrier)}\t${e.hop}\t${e.attempt}\t${e.segment}\t${e.segments}\t${text(e.carrierMessageId)}\t` +
    `${text(e.error)}\t${e.epoch}\t${e.category}\t${text(e.sender)}\t${text(e.recipient)}\t${e.encoding}\t` +
    `${e.livemode ? 1 : 0}\t${text(e.clientReference)}\t${text(e.campaignId)}\t${text(e.variantId)}\t` +
    `${text(e.templateId)}\t${time(e.acceptedAtMs)}\t${time(e.validUntilMs)}\t` +
    `${place.streamEpoch}\t${place.streamSeq}\t${place.batchIndex}\t${time(recordedAtMs)}\t${e.scheduledAtMs === null ? never : time(e.scheduledAtMs)}\t` +
    `${e.inbound === undefined ? '\t' : `${e.inbound.keyword ?? ''}\t${text(inboundText(e.inbound))}`}\t${recipientHash}\n`
  );
}

/**
 * Whether ClickHouse accepts the event as a row. One row that it cannot parse fails the whole insert, which is repeated
 * until it succeeds: so an event that does not fit must never be inserted.
 */
export function fitsRow(e: DeliveryEvent): boolean {
  return (
    e.eventId.length === eventIdChars &&
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

/** The value of a time column without a time. */
const never = '1970-01-01 00:00:00';
const eventIdChars = 26;
/** DateTime64 ends with the year 2299; this is 2286. */
const timeMsMax = 9_999_999_999_999;
const isTime = (ms: number): boolean => ms >= 0 && ms <= timeMsMax;
const isCount = (count: number, max: number): boolean => Number.isInteger(count) && count >= 0 && count <= max;

/** The columns that sms_submits has too. */
export const submitColumns =
  'event_id, kind, toUnixTimestamp64Milli(at), message_id, account_id, key_id, carrier, hop, attempt, segment, ' +
  'segments, carrier_message_id, error, epoch, category, sender, recipient, encoding, livemode, client_reference, ' +
  'campaign_id, variant_id, template_id, toUnixTimestamp64Milli(accepted_at), toUnixTimestamp64Milli(valid_until), ' +
  'toUnixTimestamp64Milli(scheduled_at)';

export const eventColumns = `${submitColumns}, keyword, inbound`;

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
  };
}

/** The body stays sealed, and is stored only when the account's policy allows it. */
function inboundText({ parts, receivedId, keepBody, sealedBody }: InboundFacts): string {
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

function orNull(cell: Cell | undefined): string | null {
  return cell === '' || cell === undefined ? null : (cell as string);
}

/** Seconds with three decimals: DateTime64(3) reads a bare number of seconds. */
function time(ms: number): string {
  const whole = Math.floor(ms / 1000);
  const rest = Math.floor(ms) - whole * 1000;
  return rest === 0 ? `${whole}.000` : `${whole}.${rest < 10 ? '00' : rest < 100 ? '0' : ''}${rest}`;
}
