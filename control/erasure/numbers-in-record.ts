// Whose numbers a record of a stream holds, for every stream that holds some. Bodies of messages stay sealed.
import type { StoredMsg } from '@nats-io/jetstream';
import { readBatch } from '../../model/records/event-record.ts';
import { decodeDecision, decodeInbound } from '../../model/records/inbound-record.ts';
import { decodeMessage } from '../../model/records/message-record.ts';
import { decodeOtpNumber } from '../../model/records/otp-record.ts';
import { decodeWebhook } from '../../model/records/webhook-record.ts';
import { type BodyCipher, unopened } from '../../model/records/body-cipher.ts';
import type { DeliveryEvent } from '../../model/delivery-event.ts';
import type { Message } from '../../model/message.ts';
import { ignoring } from '../../platform/errors.ts';
import { jsonObjectIn } from '../../platform/json.ts';
import { limits } from '../../platform/limits.ts';
import { streamNames, streamOfBucket } from '../../cluster/bus/streams.ts';
import { parkedFiller, streamOfDeadSubject } from '../../cluster/bus/subjects.ts';
import { readLater } from '../../cluster/bus/later.ts';

export type Held = {
  readonly number: string;
  /** Null: the record does not say. */
  readonly accountId: string | null;
  /** When its message was accepted, or its one-time password made; else when the record was stored. */
  readonly sinceMs: number;
};
export type HeldNumbers = {
  readonly held: readonly Held[];
  /** A message that waits to be sent. */
  readonly message: Message | null;
};

const nothing: HeldNumbers = { held: [], message: null };

/** Null: this version cannot read it. */
export function numbersIn(stream: string, record: StoredMsg, cipher: BodyCipher): HeldNumbers | null {
  try {
    return read(stream, record, cipher);
  } catch (error) {
    ignoring(error, `a record of ${stream} cannot be read, so nobody knows whose it is`);
    return null;
  }
}

function read(stream: string, record: StoredMsg, cipher: BodyCipher): HeldNumbers {
  const { subject, data } = record;
  const storedMs = record.time.getTime();
  if (stream === streamNames.dead) {
    const from = streamOfDeadSubject(subject);
    // The mark of a replay.
    return from === null ? nothing : dead(from, record);
  }
  if ((waiting as readonly string[]).includes(stream)) {
    const later = readLater({ headers: record.header });
    if (later === null) throw new Error('not a waiting record');
    if (later.subject.startsWith('mt.')) return ofMessage(data);
    return later.subject.endsWith('.in') ? nothing : { held: receipt(data, storedMs), message: null };
  }
  if (subject === parkedFiller) return nothing;
  if (stream === streamNames.webhookLog) return ofWebhook(data, storedMs, accountIn(subject));
  if (stream === streamNames.webhookAttempts) return ofAttempts(record, cipher);
  if (stream === streamNames.facts) return ofFact(data, storedMs);
  if (stream !== streamOfBucket('otp') || data.length === 0) return nothing;
  const { to: number } = decodeOtpNumber(data).number;
  return number === null
    ? nothing
    : { held: [{ number, accountId: accountIn(subject), sinceMs: storedMs }], message: null };
}

const waiting = Object.values(streamNames.waiting);

function dead(from: string, { data, header, time }: StoredMsg): HeldNumbers {
  const storedMs = time.getTime();
  if (from === streamNames.events) {
    const { events, unread } = readBatch(data);
    const raw = unread.flatMap(({ raw: at }) =>
      Array.isArray(at) && typeof at[recipientAt] === 'string'
        ? [{ number: at[recipientAt], accountId: String(at[accountAt]), sinceMs: storedMs }]
        : [],
    );
    return { held: [...events.map(ofEvent), ...raw], message: null };
  }
  // WEBHOOKS: the queue that former versions had.
  if (from === 'WEBHOOKS' || from === streamNames.webhookLog) return ofWebhook(data, storedMs, null);
  if (from === streamNames.facts) return ofFact(data, storedMs);
  if (from !== streamNames.inbound) return { ...ofMessage(data), message: null };
  const was = header.get('Heliograph-Subject');
  if (was.endsWith('.decided')) {
    const { number, accountId, atMs } = decodeDecision(data);
    return { held: [{ number, accountId, sinceMs: atMs }], message: null };
  }
  if (!was.endsWith('.in')) return { held: receipt(data, storedMs), message: null };
  const part = decodeInbound(data, unopened);
  if (part.kind === 'overdue') return nothing;
  const digits = part.source.replace(/^\+/, '');
  return { held: [{ number: `+${digits}`, accountId: null, sinceMs: part.receivedAtMs }], message: null };
}

/** Positions of an event (model/records/event-record.ts) that this version cannot read as a whole. */
const accountAt = 4;
const recipientAt = 16;

function ofMessage(data: Uint8Array): HeldNumbers {
  const message = decodeMessage(data, unopened);
  const { recipient: number, accountId, acceptedAtMs: sinceMs } = message;
  return { held: [{ number, accountId, sinceMs }], message };
}

const ofEvent = ({ recipient: number, accountId, acceptedAtMs: sinceMs }: DeliveryEvent): Held => ({
  ...{ number, accountId, sinceMs },
});

function ofWebhook(data: Uint8Array, storedMs: number, accountId: string | null): HeldNumbers {
  const { content } = decodeWebhook(data);
  if ('event' in content) return { held: [ofEvent(content.event)], message: null };
  const { created_at: createdAt, ...others } = content.data;
  const sinceMs = typeof createdAt === 'string' ? Date.parse(createdAt) : storedMs;
  const texts = Object.values(others).filter((each) => typeof each === 'string');
  return { held: texts.map((number) => ({ number, accountId, sinceMs })), message: null };
}

/** A one-time password has the number. Read loosely: in DEAD there are facts that this version cannot read. */
function ofFact(data: Uint8Array, storedMs: number): HeldNumbers {
  const fact = jsonObjectIn(data);
  if (fact === null) throw new Error('not a record of FACTS');
  const { to: number, accountId: account, createdAtMs } = fact;
  if (typeof number !== 'string') return nothing;
  const accountId = typeof account === 'string' ? account : null;
  const sinceMs = typeof createdAtMs === 'number' ? createdAtMs : storedMs;
  return { held: [{ number, accountId, sinceMs }], message: null };
}

/**
 * What was sent to an endpoint and what it answered: every number in it, in whatever place. The data of an event has
 * `created_at` after the number; without it, such as in a URL or where the body was cut, the number may be an old one.
 */
function ofAttempts({ subject, data }: StoredMsg, cipher: BodyCipher): HeldNumbers {
  const accountId = accountIn(subject);
  const opened = cipher.open(data, subject.split('.')[2] ?? '').toString('latin1');
  const held = [...opened.matchAll(/\+\d{7,15}/g)].map(({ 0: number, index }) => {
    const [, createdAt] = createdAtAfter.exec(opened.slice(index, index + eventCharsMax)) ?? [];
    return { number, accountId, sinceMs: createdAt === undefined ? 0 : Date.parse(createdAt) };
  });
  return { held, message: null };
}

/** In the same object. */
const createdAtAfter = /^[^{}]*?"created_at":"([-0-9T:.]{23}Z)"/;
const eventCharsMax = limits.webhookAttempts.requestBodyChars;

function receipt(data: Uint8Array, storedMs: number): readonly Held[] {
  const parked = jsonObjectIn(data)?.['receipt'] as { recipient?: unknown } | undefined;
  if (typeof parked?.recipient !== 'string') throw new Error('not a parked receipt');
  return [{ number: parked.recipient, accountId: null, sinceMs: storedMs }];
}

const accountIn = (subject: string): string | null => /acc_[0-9A-Z]{26}/.exec(subject)?.[0] ?? null;
