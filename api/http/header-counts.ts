// Counts headers that a request must not repeat. uWebSockets.js uses the first of two; a proxy in front, or the
// client, may mean the last. Two Content-Lengths allow request smuggling (RFC 9112 section 6.3), and of two API keys
// each may belong to another account.
import type { HttpRequest } from 'uWebSockets.js';

export type HeaderCounts = {
  readonly contentLength: number;
  readonly authorization: number;
  /** One beyond ASCII is read as empty, and still counted. */
  readonly idempotencyKey: number;
  /** Whether a body was announced, by its length or in chunks. */
  readonly hasBody: boolean;
};

/** One walk over the headers for all of them: it is paid for every request. */
export function headerCountsOf(req: HttpRequest): HeaderCounts {
  const headerCounts = { contentLength: 0, authorization: 0, idempotencyKey: 0, hasBody: false };
  req.forEach((name, value) => {
    if (name === 'content-length') {
      headerCounts.contentLength += 1;
      if (value !== '0') headerCounts.hasBody = true;
    } else if (name === 'transfer-encoding') headerCounts.hasBody = true;
    else if (name === 'authorization') headerCounts.authorization += 1;
    else if (name === 'idempotency-key') headerCounts.idempotencyKey += 1;
  });
  return headerCounts;
}
