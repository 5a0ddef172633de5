// How often a request says what it must say once. uWebSockets.js takes the first of two such headers; a proxy in front, or
// the client, may mean the last. Of two Content-Lengths what one reader takes for the end of a body is to the other the
// next request, of somebody else (RFC 9112 section 6.3); of two keys each may be another account's.
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
