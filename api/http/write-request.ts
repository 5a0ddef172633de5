// What every write on the hot door passes before its fields are looked at: who asks, from where and how often, the
// content type, the idempotency key, the body. It knows no route.
import type { HttpRequest } from 'uWebSockets.js';
import { limits } from '../../platform/limits.ts';
import { metrics } from '../../platform/telemetry.ts';
import { type Problem, problem, problemOfFields } from '../problem.ts';
import { type AccessParts, admitCaller } from './access.ts';
import type { Caller } from './bearer.ts';
import type { Exchange } from './exchange.ts';
import type { Guard } from './guard.ts';
import { bodyHashOf, recordKey } from './idempotency/record.ts';
import type { KeyedRequest } from './idempotency/requests.ts';
import { readBody } from './read-body.ts';

export type WriteParts = { readonly access: AccessParts; readonly guard: Guard };

export type Write = {
  readonly caller: Caller;
  /** Only until `use` returns: its memory is the server's. */
  readonly body: Buffer;
  /** Empty: none was sent. */
  readonly idempotencyKey: string;
  readonly refuse: (problem: Problem) => void;
};

const keyPattern = /^[\x20-\x7e]+$/;
const jsonType = /^application\/json\s*(;\s*charset\s*=\s*"?utf-8"?\s*)?$/i;

/** `use` runs once, guarded, with the whole body; or never, and then the request was answered. */
export function readWrite(parts: WriteParts, exchange: Exchange, req: HttpRequest, use: (write: Write) => void): void {
  const contentType = req.getHeader('content-type');
  const contentLength = req.getHeader('content-length');
  const refuse = (refusal: Problem) => refuseWith(exchange, refusal);
  const authenticated = admitCaller(parts.access, exchange, req);
  if (!authenticated.ok) return refuse(authenticated.problem);
  if (!jsonType.test(contentType)) {
    return refuse(problem(415, 'unsupported_media_type', 'the body must come as Content-Type: application/json'));
  }
  const key = readKey(req);
  if ('problem' in key) return refuse(key.problem);
  const { caller } = authenticated;
  readBody(exchange, contentLength, (body) => {
    parts.guard(exchange, () => use({ caller, body, idempotencyKey: key.idempotencyKey, refuse }));
  });
}

export function refuseWith(exchange: Exchange, refusal: Problem): void {
  metrics.refused.inc({ code: refusal.code });
  exchange.refuse(refusal);
}

/** The Idempotency-Key of a request; empty when there is none. */
export function readKey(req: HttpRequest): { readonly idempotencyKey: string } | { readonly problem: Problem } {
  const key = req.getHeader('idempotency-key');
  const { idempotencyKeyCharsMax } = limits.http;
  const isSound = key === '' ? !isSent(req) : key.length <= idempotencyKeyCharsMax && keyPattern.test(key);
  if (isSound) return { idempotencyKey: key };
  return {
    problem: problemOfFields(422, [
      {
        field: 'Idempotency-Key',
        code: 'invalid_field',
        detail: `must have 1–${idempotencyKeyCharsMax} printable ASCII characters`,
      },
    ]),
  };
}

/** What the record of this key is found by, and what its repeats must say. */
export function keyedRequest(
  parts: { readonly access: AccessParts },
  operation: string,
  { caller, body, idempotencyKey }: Pick<Write, 'caller' | 'body' | 'idempotencyKey'>,
): KeyedRequest {
  const { accountId } = caller.account;
  const { livemode } = caller.key;
  return {
    recordKey: recordKey(accountId, livemode, operation, idempotencyKey),
    bodyHash: bodyHashOf(body),
    accountId,
    livemode,
    idempotencyKey,
    quota: parts.access.rates.keyQuota(caller.account),
  };
}

/** uWebSockets.js reads a header beyond ASCII as empty. Taken for no key, its client would trust in vain. */
function isSent(req: HttpRequest): boolean {
  let sent = false;
  req.forEach((name) => {
    if (name === 'idempotency-key') sent = true;
  });
  return sent;
}
