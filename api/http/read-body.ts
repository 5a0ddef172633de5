// Collects a request's body up to the size limit. A body in one piece, as nearly all are, is passed on without a copy;
// the callee must be done with it when `onBody` returns, because uWebSockets.js frees the memory. Larger bodies are copied
// in pieces. Arriving bodies have slots of their own with a share per account, so that half-sent requests take none of
// the request slots.
import { limits } from '../../platform/limits.ts';
import type { SharedBound, Use } from '../../platform/shared-bound.ts';
import { problem } from '../problem.ts';
import type { Exchange } from './exchange.ts';

const { bodyBytesMax, bodyMs, bodyGraceMs, bodyBytesPerS } = limits.http;

/** Whose share of the places the body takes, and of which use. */
export type BodyOwner = { readonly account: string; readonly use?: Use };

/** Calls `onBody` once with the whole body, or never: then the request was answered 413, 408, 429 or 503, or aborted. */
export function readBody(
  exchange: Exchange,
  contentLength: string,
  places: SharedBound,
  owner: BodyOwner,
  onBody: (body: Buffer) => void,
): void {
  if (contentLength !== '' && Number(contentLength) > bodyBytesMax) return refuseSize(exchange);
  const crowded = exchange.hold(places, owner.account, owner.use);
  if (crowded !== null) return exchange.refuse(crowded, [], true);
  let pieces: Buffer[] | null = null;
  let length = 0;
  exchange.receiving = true;
  exchange.res.onData((chunk, isLast) => {
    if (!exchange.isOpen) return; // already refused (too large, too slow)
    length += chunk.byteLength;
    exchange.received = length;
    if (length > bodyBytesMax) {
      pieces = null;
      return refuseSize(exchange);
    }
    if (!isLast) {
      pieces ??= [];
      // The chunk's memory is freed when this returns.
      pieces.push(Buffer.from(new Uint8Array(chunk)));
      return;
    }
    exchange.receiving = false;
    exchange.release(places);
    const last = Buffer.from(chunk);
    onBody(pieces === null ? last : Buffer.concat([...pieces, last]));
  });
}

/** Refuses requests whose body stalls or trickles. Called a few times a second. */
export function refuseSlowBodies(open: Iterable<Exchange>): void {
  for (const exchange of open) {
    if (!exchange.receiving || !isTooSlow(exchange.elapsedMs, exchange.received)) continue;
    const detail = `the body must come at ${bodyBytesPerS} octets a second and be complete within ${bodyMs / 1_000} s`;
    exchange.refuse(problem(408, 'request_timeout', detail), [], true);
  }
}

/** Whether `received` octets after `elapsedMs` are too few. */
export function isTooSlow(elapsedMs: number, received: number): boolean {
  if (elapsedMs >= bodyMs) return true;
  return elapsedMs >= bodyGraceMs && received * 1_000 < elapsedMs * bodyBytesPerS;
}

function refuseSize(exchange: Exchange): void {
  exchange.refuse(problem(413, 'body_too_large', `the body may have at most ${bodyBytesMax} bytes`), [], true);
}
