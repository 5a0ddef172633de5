// The 202 of one message, and the part of it that is stored under an idempotency key: only what does not follow from
// the request, because the repeat sends the request again. That is one octet for most messages, and some five more
// where one character made the text UCS-2; no phone number is stored.
import { assert } from '../../platform/assert.ts';
import type { MessageId } from '../../model/ids.ts';
import type { Admitted, SmsRequest } from '../../policy/contract.ts';
import { type AcceptedFacts, acceptedBody } from './sms-answer.ts';

type Ucs2Because = Admitted['ucs2Because'];

// The first octet: flags, and the segments in the upper four bits. What the flags name follows as numbers, in this order.
const isUcs2 = 1;
const isLater = 2;
const isScheduled = 4;
const hasBecause = 8;
const segmentBits = 4;

export function keptOfAccepted(message: AcceptedFacts, ucs2Because: Ucs2Because, createdAtMs: number): Buffer {
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
  return Buffer.from(octets);
}

/**
 * The body of the 202, from what was kept of it and the same request. Throws at octets that are none of
 * keptOfAccepted's.
 */
export function acceptedAgain(kept: Buffer, { request, livemode, messageId, createdAtMs }: Repeat): string {
  const read = { kept, at: 1 };
  const first = kept.readUInt8(0);
  const laterMs = (first & isLater) === 0 ? 0 : takeSigned(read);
  const scheduledAtMs = (first & isScheduled) === 0 ? null : createdAtMs + takeSigned(read);
  const because =
    (first & hasBecause) === 0 ? null : { character: String.fromCodePoint(takeNumber(read)), index: takeNumber(read) };
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
  return acceptedBody(facts, because);
}

type Repeat = {
  readonly request: SmsRequest;
  readonly livemode: boolean;
  readonly messageId: MessageId;
  readonly createdAtMs: number;
};

/** A whole number of at most 53 bits: seven bits an octet, the lowest first, the eighth says that more follow. */
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

/** A clock may have been set back in between. */
function putSigned(octets: number[], value: number): void {
  const whole = Math.round(value);
  putNumber(octets, whole < 0 ? -whole * 2 - 1 : whole * 2);
}

function takeSigned(read: { readonly kept: Buffer; at: number }): number {
  const value = takeNumber(read);
  return value % 2 === 0 ? value / 2 : -(value + 1) / 2;
}
