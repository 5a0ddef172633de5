// What is remembered of a request with an idempotency key, as octets in the bucket `idempotency`: a msgpack array
// with frozen positions, like every record on the bus. A record that cannot be read is not guessed at.
import { hash } from 'node:crypto';
import { Packr } from 'msgpackr';
import type { MessageId } from '../../../model/ids.ts';
import { isMessageId } from '../../../model/ids.ts';

export type IdempotencyRecord = {
  /** SHA-256 of the body's octets: a repeat is the same request only when it says the same. */
  readonly bodyHash: string;
  readonly messageId: MessageId;
  readonly state: 'running' | 'done';
  /** Who works on it: one value for each request, so that a write that landed unheard is recognised. */
  readonly owner: string;
  readonly leaseUntilMs: number;
  readonly createdAtMs: number;
  /** The body of the 202; empty while running. */
  readonly answer: string;
};

const version = 1;
const packr = new Packr({ useRecords: false });

export function encodeRecord(record: IdempotencyRecord): Buffer {
  return packr.pack([
    version,
    record.bodyHash,
    record.messageId,
    record.state === 'done',
    record.owner,
    record.leaseUntilMs,
    record.createdAtMs,
    record.answer,
  ]);
}

/** Throws when the octets are no record of a version this one can read. */
export function decodeRecord(octets: Uint8Array): IdempotencyRecord {
  const at = packr.unpack(octets) as readonly unknown[];
  if (!Array.isArray(at) || at[0] !== version) throw new Error('an idempotency record of an unknown version');
  const messageId = String(at[2]);
  if (!isMessageId(messageId)) throw new Error('an idempotency record without a message id');
  return {
    bodyHash: String(at[1]),
    messageId,
    state: at[3] === true ? 'done' : 'running',
    owner: String(at[4]),
    leaseUntilMs: Number(at[5]),
    createdAtMs: Number(at[6]),
    answer: String(at[7]),
  };
}

/** The bucket's key for a client's key: hashed, because clients put anything into theirs, also people's numbers. */
export function recordKey(accountId: string, livemode: boolean, operation: string, idempotencyKey: string): string {
  return hash('sha256', `${accountId}\n${livemode ? 'live' : 'test'}\n${operation}\n${idempotencyKey}`, 'base64url');
}

export function bodyHashOf(body: Uint8Array): string {
  return hash('sha256', body, 'base64url');
}
