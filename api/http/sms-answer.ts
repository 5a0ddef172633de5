// The bodies of the hot routes' answers. The 202 is concatenated by hand, at a third of the cost of JSON.stringify,
// with its fields in the documented order. Under an idempotency key only what does not follow from the request is
// stored, because a repeat sends the request again: one octet for most messages, about five more when a character
// forced UCS-2; no phone number.
import type { MessageView, InboundView } from '../../analytics/contract.ts';
import type { Message } from '../../model/message.ts';
import type { Admitted, SmsRequest } from '../../policy/contract.ts';
import { problem } from '../problem.ts';
import { assert } from '../../platform/assert.ts';
import { isoTime } from '../../platform/iso-time.ts';
import type { MessageId } from '../../model/ids.ts';
import type { BodyCipher } from '../../model/records/body-cipher.ts';
import { shownBody } from '../../model/records/message-record.ts';

/** The fields of a message that the 202 shows. */
export type AcceptedFacts = Pick<
  Message,
  | 'messageId'
  | 'recipient'
  | 'sender'
  | 'category'
  | 'encoding'
  | 'segments'
  | 'livemode'
  | 'clientReference'
  | 'acceptedAtMs'
  | 'scheduledAtMs'
>;

/**
 * The body of the 202 and of its replays. `ucs2_because` is present only when a character forced UCS-2, and `links`, how many
 * are short ones, only with `track_clicks` (null: without).
 */
export function acceptedBody(message: AcceptedFacts, { ucs2Because, links }: AcceptedText = plainText): string {
  const reference = message.clientReference === null ? 'null' : JSON.stringify(message.clientReference);
  const because = ucs2Because === null ? '' : `,"ucs2_because":${JSON.stringify(ucs2Shape(ucs2Because))}`;
  const shortened = links === null ? '' : `,"links":${links}`;
  // Ids, numbers, categories and encodings need no JSON escapes; all else is stringified.
  return (
    `{"id":"${message.messageId}","object":"sms","status":"${acceptedStatus(message)}","to":"${message.recipient}"` +
    `,"from":${JSON.stringify(message.sender)},"category":"${message.category}","encoding":"${message.encoding}"` +
    `,"segments":${message.segments}${because}${shortened},"livemode":${message.livemode},"client_reference":${reference}` +
    `,"created_at":"${isoTime(message.acceptedAtMs)}"` +
    (message.scheduledAtMs === null ? '}' : `,"scheduled_at":"${isoTime(message.scheduledAtMs)}"}`)
  );
}

/** What the 202 says of the text. */
export type AcceptedText = { readonly ucs2Because: Admitted['ucs2Because']; readonly links: number | null };
const plainText: AcceptedText = { ucs2Because: null, links: null };

export const acceptedTextOf = ({ trackClicks }: SmsRequest, { ucs2Because, links }: Admitted): AcceptedText => ({
  ucs2Because,
  links: trackClicks === true ? links.length : null,
});

/** The character that forced UCS-2 with its code point: a no-break space looks like a space. */
export function ucs2Shape({ character, index }: NonNullable<Admitted['ucs2Because']>): object {
  const point = (character.codePointAt(0) ?? 0).toString(16).toUpperCase().padStart(4, '0');
  return { character, code_point: `U+${point}`, index };
}

/** The status right after acceptance. */
export function acceptedStatus(message: Pick<Message, 'scheduledAtMs'>): 'scheduled' | 'accepted' {
  return message.scheduledAtMs === null ? 'accepted' : 'scheduled';
}

/** A message as GET /v1/sms/{id} shows it. */
export function messageShape(view: MessageView): Record<string, unknown> {
  return {
    id: view.id,
    object: view.refused ? 'refused_request' : 'sms',
    direction: 'outbound',
    status: view.status,
    to: view.to,
    from: view.from,
    category: view.category,
    encoding: view.encoding,
    segments: view.segments,
    livemode: view.livemode,
    client_reference: view.clientReference,
    created_at: isoTime(view.acceptedAtMs),
    ...(view.scheduledAtMs === null ? {} : { scheduled_at: isoTime(view.scheduledAtMs) }),
    history: view.history.map(({ status, atMs, carrier, error }) => ({ status, at: isoTime(atMs), carrier, error })),
    timing_ms: {
      accepted_to_submitted: difference(view.scheduledAtMs ?? view.acceptedAtMs, view.submittedAtMs),
      submitted_to_delivered: difference(view.submittedAtMs, view.deliveredAtMs),
    },
    error: view.error,
  };
}

function difference(fromMs: number | null, toMs: number | null): number | null {
  return fromMs === null || toMs === null ? null : toMs - fromMs;
}

/** The same answer for another account's message, so that ids reveal nothing. */
export const messageNotFound = problem(
  404,
  'not_found',
  'no message of this account and of this mode (live or test) has this id',
);

// Flags of the first octet; its upper four bits are the segments. The values of the flags follow in this order, and then,
// of a request with `track_clicks`, the number of links.
const isUcs2 = 1;
const isLater = 2;
const isScheduled = 4;
const hasBecause = 8;
const segmentBits = 4;

export function keptOfAccepted(
  message: AcceptedFacts,
  { ucs2Because, links }: AcceptedText,
  createdAtMs: number,
): Buffer {
  const laterMs = message.acceptedAtMs - createdAtMs;
  const { segments, scheduledAtMs } = message;
  assert(segments < 2 ** segmentBits, 'a message has at most 15 segments');
  const flags =
    (message.encoding === 'ucs2' ? isUcs2 : 0) |
    (laterMs === 0 ? 0 : isLater) |
    (scheduledAtMs === null ? 0 : isScheduled) |
    (ucs2Because === null ? 0 : hasBecause);
  const octets = [flags | (segments << segmentBits)];
  if (laterMs !== 0) putSigned(octets, laterMs);
  if (scheduledAtMs !== null) putSigned(octets, scheduledAtMs - createdAtMs);
  if (ucs2Because !== null) {
    putNumber(octets, ucs2Because.character.codePointAt(0) ?? 0);
    putNumber(octets, ucs2Because.index);
  }
  if (links !== null) putNumber(octets, links);
  return Buffer.from(octets);
}

/** Rebuilds the body of the 202 from keptOfAccepted and the same request. Throws at other octets. */
export function acceptedAgain(kept: Buffer, { request, livemode, messageId, createdAtMs }: Repeat): string {
  const read = { kept, at: 1 };
  const first = kept.readUInt8(0);
  const laterMs = (first & isLater) === 0 ? 0 : takeSigned(read);
  const scheduledAtMs = (first & isScheduled) === 0 ? null : createdAtMs + takeSigned(read);
  const ucs2Because =
    (first & hasBecause) === 0 ? null : { character: String.fromCodePoint(takeNumber(read)), index: takeNumber(read) };
  // An earlier version did not keep it.
  const links = request.trackClicks === true && read.at < kept.length ? takeNumber(read) : null;
  assert(read.at === kept.length, 'an answer under an idempotency key ends where its facts end');
  const facts: AcceptedFacts = {
    messageId,
    recipient: request.to,
    sender: request.from,
    category: request.category,
    encoding: (first & isUcs2) === 0 ? 'gsm7' : 'ucs2',
    segments: first >> segmentBits,
    livemode,
    clientReference: request.clientReference,
    acceptedAtMs: createdAtMs + laterMs,
    scheduledAtMs,
  };
  return acceptedBody(facts, { ucs2Because, links });
}

type Repeat = {
  readonly request: SmsRequest;
  readonly livemode: boolean;
  readonly messageId: MessageId;
  readonly createdAtMs: number;
};

/** Appends a whole number of up to 53 bits: seven bits per octet, lowest first; bit 8: more follow. */
function putNumber(octets: number[], value: number): void {
  assert(Number.isSafeInteger(value) && value >= 0, 'a whole number');
  for (let left = value; ; left = Math.floor(left / 128)) {
    octets.push((left % 128) | (left < 128 ? 0 : 128));
    if (left < 128) return;
  }
}

function takeNumber(read: { readonly kept: Buffer; at: number }): number {
  for (let value = 0, unit = 1; ; unit *= 128) {
    const octet = read.kept.readUInt8(read.at);
    read.at += 1;
    value += (octet & 127) * unit;
    if (octet < 128) return value;
  }
}

/** Signed, because a clock may have been set back in between. */
function putSigned(octets: number[], value: number): void {
  const whole = Math.round(value);
  putNumber(octets, whole < 0 ? -whole * 2 - 1 : whole * 2);
}

function takeSigned(read: { readonly kept: Buffer; at: number }): number {
  const value = takeNumber(read);
  return value % 2 === 0 ? value / 2 : -(value + 1) / 2;
}

export function inboundShape(view: MessageView, inbound: InboundView, cipher: BodyCipher): Record<string, unknown> {
  const sealed = inbound.sealedBody === null ? null : Buffer.from(inbound.sealedBody, 'base64');
  return {
    id: view.id,
    object: 'sms',
    direction: 'inbound',
    status: view.status,
    to: view.to,
    from: view.from,
    ...shownBody(sealed, view.id, cipher),
    keyword: inbound.keyword,
    encoding: view.encoding,
    segments: view.segments,
    segments_received: inbound.parts,
    livemode: view.livemode,
    carrier: view.carrier,
    created_at: isoTime(view.acceptedAtMs),
  };
}
