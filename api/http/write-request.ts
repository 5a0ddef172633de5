// What every hot write passes before its fields are read: authentication, access, content type, idempotency key,
// body. It knows no route.
import type { HttpRequest } from 'uWebSockets.js';
import type { Principal } from '../../acceptance/principal.ts';
import { limits } from '../../platform/limits.ts';
import { metrics } from '../../platform/telemetry.ts';
import { refuseMediaType } from '../media-type.ts';
import { type Problem, problemOfFields } from '../problem.ts';
import type { Use } from '../../platform/shared-bound.ts';
import { type AccessParts, admitCaller } from './access.ts';
import type { Exchange } from './exchange.ts';
import type { Guard } from './guard.ts';
import type { BodyPrinter } from './idempotency/body-print.ts';
import type { KeyPlaces } from './idempotency/key-place.ts';
import type { KeyedRequest } from './idempotency/requests.ts';
import { readBody } from './read-body.ts';

/** What distinguishes requests with an idempotency key. */
export type KeyParts = { readonly keyPlaces: KeyPlaces; readonly bodyPrints: BodyPrinter };
export type WriteParts = KeyParts & { readonly access: AccessParts; readonly guard: Guard };

export type Write = {
  readonly principal: Principal;
  /** Only until `use` returns: its memory is the server's. */
  readonly body: Buffer;
  /** Empty when none was sent. */
  readonly idempotencyKey: string;
  readonly refuse: (problem: Problem) => void;
};

const keyPattern = /^[\x20-\x7e]+$/;

/** Which share of its account's slots a request uses, and further checks before its body is read. */
export type WriteKind = { readonly use: Use; refuse?(principal: Principal): Problem | null };

/** `use` runs once, guarded, with the whole body; or never, and then the request was answered. */
export function readWrite(
  parts: WriteParts,
  exchange: Exchange,
  req: HttpRequest,
  kind: WriteKind,
  use: (write: Write) => void,
): void {
  const contentType = req.getHeader('content-type');
  const contentLength = req.getHeader('content-length');
  const contentEncoding = req.getHeader('content-encoding');
  const refuse = (refusal: Problem) => refuseWith(exchange, refusal);
  const authenticated = admitCaller(parts.access, exchange, req);
  if (!authenticated.ok) return refuse(authenticated.problem);
  const media = refuseMediaType(contentType, contentEncoding);
  if (media !== null) return refuse(media);
  const key = readKey(exchange, req);
  if ('problem' in key) return refuse(key.problem);
  const { principal } = authenticated;
  const early = kind.refuse?.(principal) ?? null;
  if (early !== null) return refuse(early);
  const sender = { account: principal.account.accountId, use: kind.use };
  readBody(exchange, contentLength, parts.access.places.bodies, sender, (body) => {
    parts.guard(exchange, () => use({ principal, body, idempotencyKey: key.idempotencyKey, refuse }));
  });
}

export function refuseWith(exchange: Exchange, refusal: Problem): void {
  metrics.refused.inc({ code: refusal.code });
  exchange.refuse(refusal);
}

/** The Idempotency-Key of a request; empty when there is none. */
export function readKey(
  { headerCounts }: Exchange,
  req: HttpRequest,
): { readonly idempotencyKey: string } | { readonly problem: Problem } {
  const key = req.getHeader('idempotency-key');
  const { idempotencyKeyCharsMax } = limits.http;
  // uWebSockets.js reads a header beyond ASCII as empty. Treated as no key, the client's retry would send twice.
  const isSound =
    key === '' ? headerCounts.idempotencyKey === 0 : key.length <= idempotencyKeyCharsMax && keyPattern.test(key);
  if (isSound && headerCounts.idempotencyKey < 2) return { idempotencyKey: key };
  const detail = isSound
    ? 'must be given only once'
    : `must have 1–${idempotencyKeyCharsMax} printable ASCII characters`;
  return { problem: problemOfFields(422, [{ field: 'Idempotency-Key', code: 'invalid_field', detail }]) };
}

/** What the record of this key is found by, and what its repeats must say. */
export function keyedRequest(
  parts: KeyParts & { readonly access: AccessParts },
  operation: string,
  { principal, body, idempotencyKey }: Pick<Write, 'principal' | 'body' | 'idempotencyKey'>,
  answerOf: KeyedRequest['answerOf'],
): KeyedRequest {
  const { accountId } = principal.account;
  const { livemode } = principal;
  return {
    place: parts.keyPlaces(accountId, livemode, operation, idempotencyKey),
    bodyPrints: parts.bodyPrints(body),
    accountId,
    livemode,
    idempotencyKey,
    answerOf,
    quota: parts.access.rates.keyQuota(principal.account),
  };
}
