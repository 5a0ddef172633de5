// A request says once how long its body is. uWebSockets.js takes the first of two Content-Length headers, a proxy in front
// may take the last: what one of them reads as the end of a body is to the other the next request, of somebody else
// (RFC 9112 section 6.3). Such a connection is cut: with an answer, what stands behind it would still be read.
import type { HttpRequest } from 'uWebSockets.js';

/** Requests without a body are not looked at. */
export function hasTwoLengths(req: HttpRequest): boolean {
  if (req.getHeader('content-length') === '') return false;
  let times = 0;
  req.forEach((name) => {
    if (name === 'content-length') times += 1;
  });
  return times > 1;
}
