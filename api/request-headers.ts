// Checks that both servers make on a request's headers: a body of JSON in UTF-8, an Idempotency-Key that can be stored,
// a harmless request id.
import { type Problem, problem, wrongField } from './problem.ts';
import { newRequestId } from '../model/ids.ts';
import { limits } from '../platform/limits.ts';

const jsonType = /^application\/json\s*(;\s*charset\s*=\s*"?utf-8"?\s*)?$/i;

/** Null when the body may be read. Pass '' for a missing header. */
export function refuseMediaType(contentType: string, contentEncoding: string): Problem | null {
  if (!jsonType.test(contentType)) {
    return problem(415, 'unsupported_media_type', 'the body must have Content-Type: application/json, in UTF-8');
  }
  if (contentEncoding === '' || /^identity$/i.test(contentEncoding)) return null;
  return problem(415, 'unsupported_media_type', 'the body must not have a Content-Encoding');
}

/**
 * The request id of answers, logs and audit records. A client's own id is kept, so that its logs match ours, unless it
 * is unusual. The same rule at every entry point: a forwarded request must not get a second id.
 */
export function requestIdOf(sent: string): string {
  if (sent === '' || sent.length > limits.http.requestIdCharsMax || !plain.test(sent)) return newRequestId();
  return sent;
}

/** Harmless in logs and headers. */
const plain = /^[A-Za-z0-9._:/+=-]+$/;

const { idempotencyKeyCharsMax } = limits.http;
const keyPattern = /^[\x20-\x7e]+$/;

/** `times`: how often the header is there. */
export function refuseIdempotencyKey(key: string, times: number): Problem | null {
  // uWebSockets.js reads a non-ASCII header as empty. If it counted as no key, the client's retry would send twice.
  const isSound = key === '' ? times === 0 : key.length <= idempotencyKeyCharsMax && keyPattern.test(key);
  if (isSound && times < 2) return null;
  const detail = isSound
    ? 'must be given only once'
    : `must have 1–${idempotencyKeyCharsMax} printable ASCII characters`;
  return wrongField('Idempotency-Key', detail);
}
