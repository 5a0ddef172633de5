// The message as octets on the bus: a msgpack array with frozen positions. A new field goes to the end and gets a
// default; a position is never reused. So any version reads records of any other: it ignores fields it does not know
// and fills in the default of those that are missing. Written out for each kind of record: a table read in a loop takes four
// times as long (2 µs more for an event), and a function made from a table would be an eval.
import type { AccountId, MessageId, PrincipalId } from '../ids.ts';
import { type Hedge, type Message, type MessageBody, type TonNpi, categories, hedges } from '../message.ts';
import { noShift, type Shift } from '../text/national-languages.ts';
import { ignoring } from '../../platform/errors.ts';
import type { BodyCipher } from './body-cipher.ts';
import { callbackFields, callbackOf, decoder, numberAt, oneAt, packr, textAt, textOrNull } from './record-positions.ts';

/** Raised only when older versions cannot read new records at all. */
const version = 1;

/** The record's Nats-Msg-Id, by which the stream drops duplicates. Each hop has its own. */
export function messageRecordId({ messageId, hop }: Message): string {
  return `${messageId}.${hop}`;
}

export function encodeMessage(message: Message, cipher: BodyCipher): Buffer {
  return packr.pack([
    version,
    message.messageId,
    message.hop,
    message.delays,
    message.accountId,
    message.keyId,
    message.channel,
    categories.indexOf(message.category),
    message.carrier,
    message.sender,
    tonNpiOctet(message.senderTonNpi),
    message.recipient,
    tonNpiOctet(message.recipientTonNpi),
    cipher.seal(bodyOctets(message.body), message.messageId),
    message.encoding,
    message.segments,
    message.registeredDelivery,
    message.acceptedAtMs,
    message.validUntilMs,
    message.clientReference,
    message.campaignId,
    message.variantId,
    message.templateId,
    message.livemode,
    message.priceMicros,
    message.priceVersion,
    message.trace,
    message.plan,
    message.scheduledAtMs,
    shiftOctets(message.shift),
    message.resends,
    message.callback === undefined ? null : callbackFields(message.callback),
    ...otpPositions(message),
  ]);
}

/** Throws RejectMessage('poison_record') when the octets are no message this version can read. */
export const decodeMessage = decoder('message record', version, (at, cipher: BodyCipher): Message => {
  const messageId = textAt(at[1]) as MessageId;
  return {
    messageId,
    hop: numberAt(at[2]),
    delays: numberAt(at[3]),
    accountId: textAt(at[4]) as AccountId,
    keyId: textAt(at[5]) as PrincipalId,
    channel: 'sms',
    category: oneAt(categories, at[7], 'a category'),
    carrier: textAt(at[8]),
    sender: textAt(at[9]),
    senderTonNpi: tonNpiOf(at[10]),
    recipient: textAt(at[11]),
    recipientTonNpi: tonNpiOf(at[12]),
    body: bodyOf(cipher.open(at[13] as Uint8Array, messageId)),
    encoding: at[14] === 'ucs2' ? 'ucs2' : 'gsm7',
    segments: numberAt(at[15]),
    registeredDelivery: numberAt(at[16]),
    acceptedAtMs: numberAt(at[17]),
    validUntilMs: numberAt(at[18]),
    clientReference: textOrNull(at[19]),
    campaignId: textOrNull(at[20]),
    variantId: textOrNull(at[21]),
    templateId: textOrNull(at[22]),
    livemode: at[23] !== false,
    priceMicros: numberOrNull(at[24]),
    priceVersion: numberOrNull(at[25]),
    trace: Array.isArray(at[26]) ? (at[26] as string[]) : [],
    plan: Array.isArray(at[27]) ? (at[27] as string[]) : [],
    scheduledAtMs: numberOrNull(at[28]),
    shift: shiftOf(at[29]),
    resends: numberOrNull(at[30]) ?? 0,
    ...callbackOf(at[31]),
    ...hedgeOf(at[32]),
    ...(typeof at[33] === 'string' ? { scoredAs: at[33] } : {}),
  };
});

const bodyIsText = 0;
const bodyIsOctets = 1;

export function bodyOctets(body: MessageBody): Buffer {
  if ('text' in body) {
    const octets = Buffer.allocUnsafe(1 + Buffer.byteLength(body.text));
    octets[0] = bodyIsText;
    octets.write(body.text, 1);
    return octets;
  }
  return Buffer.concat([Buffer.of(bodyIsOctets), packr.pack([body.octets, body.dataCoding, body.udh])]);
}

/**
 * The sealed body of a subscriber's message as clients are shown it: a text, or octets. Neither when it is not kept or the
 * body key that sealed it is gone.
 */
export function shownBody(sealed: Uint8Array | null, messageId: string, cipher: BodyCipher) {
  if (sealed === null) return { text: null };
  try {
    const body = bodyOf(cipher.open(sealed, messageId));
    if ('text' in body) return { text: body.text };
    const octets = Buffer.from(body.octets).toString('base64');
    return { text: null, binary: { data_coding: body.dataCoding, octets } };
  } catch (error) {
    ignoring(error, 'the body of a message from a subscriber cannot be opened with the body keys in use');
    return { text: null };
  }
}

export function bodyOf(octets: Buffer): MessageBody {
  if (octets[0] === bodyIsText) return { text: octets.toString('utf8', 1) };
  const [data, dataCoding, udh] = packr.unpack(octets.subarray(1)) as [Uint8Array, number, Uint8Array | null];
  return { octets: data, dataCoding, udh };
}

const tonNpiOctet = (each: TonNpi): number | null => (each === null ? null : each.ton * 256 + each.npi);
const tonNpiOf = (at: unknown): TonNpi => (typeof at === 'number' ? { ton: at >> 8, npi: at & 255 } : null);

// Older records have no tables, and nearly all others use none: one octet encodes that.
const shiftOctets = (each: Shift): number => each.locking * 256 + each.single;
const shiftOf = (at: unknown): Shift =>
  typeof at === 'number' && at > 0 ? { locking: (at >> 8) & 255, single: at & 255 } : noShift;

/** Most messages have neither, and their records end before them. */
function otpPositions({ hedge, scoredAs }: Message): readonly unknown[] {
  const position = hedge === undefined ? null : hedges.indexOf(hedge);
  if (scoredAs !== undefined) return [position, scoredAs];
  return position === null ? [] : [position];
}
function hedgeOf(at: unknown): { readonly hedge?: Hedge } {
  const hedge = typeof at === 'number' ? hedges[at] : undefined;
  return hedge === undefined ? {} : { hedge };
}
const numberOrNull = (at: unknown): number | null => (typeof at === 'number' ? at : null);
