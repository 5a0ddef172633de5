// Collects a request's body up to the cap. A body that came in one piece, as nearly all do, is handed over
// without a copy; the caller must be done with it when `use` returns, because uWebSockets.js takes the memory
// back. Larger ones are copied piece by piece. It never holds more than the cap.
import { limits } from '../../platform/limits.ts';
import { problem } from '../problem.ts';
import type { Exchange } from './exchange.ts';

const { bodyBytesMax } = limits.http;

/** `use` runs once, with the whole body, or never: then the request was answered 413 or 408, or went away. */
export function readBody(exchange: Exchange, contentLength: string, use: (body: Buffer) => void): void {
  if (contentLength !== '' && Number(contentLength) > bodyBytesMax) return refuseSize(exchange);
  let pieces: Buffer[] | null = null;
  let length = 0;
  exchange.receiving = true;
  exchange.res.onData((chunk, isLast) => {
    if (!exchange.isOpen) return; // answered already (too large, too slow): the rest is not wanted
    length += chunk.byteLength;
    if (length > bodyBytesMax) {
      pieces = null;
      return refuseSize(exchange);
    }
    if (!isLast) {
      pieces ??= [];
      // The chunk's memory is taken back when this returns.
      pieces.push(Buffer.from(new Uint8Array(chunk)));
      return;
    }
    exchange.receiving = false;
    const last = Buffer.from(chunk);
    use(pieces === null ? last : Buffer.concat([...pieces, last]));
  });
}

/** Gives up requests whose body never comes. Called a few times a second. */
export function refuseSlowBodies(open: Iterable<Exchange>): void {
  for (const exchange of open) {
    if (!exchange.receiving || exchange.elapsedMs < limits.http.bodyMs) continue;
    const seconds = limits.http.bodyMs / 1_000;
    exchange.refuse(problem(408, 'request_timeout', `the body was not complete after ${seconds} s`), [], true);
  }
}

function refuseSize(exchange: Exchange): void {
  exchange.refuse(problem(413, 'body_too_large', `the body may have at most ${bodyBytesMax} bytes`), [], true);
}
