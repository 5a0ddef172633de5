// The fields of a DEAD record that are readable without the body key: ids, account, masked numbers. Bodies stay sealed.
// Null: this version cannot read the record either.
import { RejectMessage, ignoring } from '../platform/errors.ts';
import { jsonObjectIn } from '../platform/json.ts';
import { maskNumber } from '../platform/log.ts';
import type { Message } from '../model/message.ts';
import { unopened } from '../model/records/body-cipher.ts';
import type { DeadRead } from '../cluster/bus/dead-records.ts';
import { readBatch } from '../model/records/event-record.ts';
import { decodeDecision, decodeInbound } from '../model/records/inbound-record.ts';
import { decodeMessage } from '../model/records/message-record.ts';
import { streamNames } from '../cluster/bus/streams.ts';

export type DeadContents = {
  readonly fields: Readonly<Record<string, string | number>>;
  /** The message without its body. */
  readonly message: Message | null;
};

export function contentsOf(record: DeadRead): DeadContents | null {
  try {
    return read(record);
  } catch (error) {
    ignoring(error, `a record of DEAD cannot be read: ${error instanceof RejectMessage ? error.code : 'broken'}`);
    return null;
  }
}

function read({ stream, subject, data }: DeadRead): DeadContents {
  if (stream === streamNames.events) return { fields: eventFields(data), message: null };
  if (stream === streamNames.inbound) return { fields: inboundFields(subject, data), message: null };
  const message = decodeMessage(data, unopened);
  const { messageId, accountId, hop, category, carrier, sender, recipient, acceptedAtMs, validUntilMs } = message;
  const fields = {
    kind: 'message',
    message_id: messageId,
    account: accountId,
    category,
    carrier,
    hop,
    from: sender,
    to: maskNumber(recipient),
    accepted_at: new Date(acceptedAtMs).toISOString(),
    valid_until: new Date(validUntilMs).toISOString(),
  };
  return { fields, message };
}

function eventFields(data: Uint8Array): DeadContents['fields'] {
  const { events, unread } = readBatch(data);
  const [first] = events;
  const [foreign] = unread;
  if (first === undefined && foreign !== undefined)
    return { kind: 'events', events: unread.length, first: foreign.why };
  if (first === undefined) throw new Error('a batch without events');
  const { kind, messageId, accountId, carrier } = first;
  return { kind: 'events', events: events.length, first: kind, message_id: messageId, account: accountId, carrier };
}

function inboundFields(subject: string, data: Uint8Array): DeadContents['fields'] {
  if (subject.endsWith('.decided')) {
    const { keyword, accountId, number, messageId } = decodeDecision(data);
    return { kind: 'decision', keyword, account: accountId, number: maskNumber(number), message_id: messageId };
  }
  if (!subject.endsWith('.in')) return receiptFields(data);
  const record = decodeInbound(data, unopened);
  if (record.kind === 'overdue') return { kind: 'overdue', carrier: record.carrier };
  const { carrier, source, destination, receivedAtMs } = record;
  const receivedAt = new Date(receivedAtMs).toISOString();
  return { kind: 'inbound', carrier, from: maskNumber(source), to: destination, received_at: receivedAt };
}

function receiptFields(data: Uint8Array): DeadContents['fields'] {
  const parked = jsonObjectIn(data);
  if (parked === null) throw new RejectMessage('poison_record', 'not a parked receipt');
  const { carrierMessageId, state, recipient } = (parked['receipt'] ?? {}) as Record<string, unknown>;
  if (typeof carrierMessageId !== 'string' || typeof recipient !== 'string') throw new Error('not a parked receipt');
  return {
    kind: 'receipt',
    carrier_message_id: carrierMessageId,
    state: String(state),
    recipient: maskNumber(recipient),
  };
}
