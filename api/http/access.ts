// The checks of a known principal before its request is read: the networks it may ask from, and the rate limits of
// key and account. Hot routes and forwarded routes use the same checks.
import type { HttpRequest } from 'uWebSockets.js';
import type { Principal } from '../../acceptance/principal.ts';
import type { Directory } from '../../directory/contract.ts';
import { metrics } from '../../platform/telemetry.ts';
import { asksForAddress, networkGate } from '../../policy/admission/network-gate.ts';
import type { Use } from '../../platform/shared-bound.ts';
import { type Problem, problem } from '../problem.ts';
import { type Authenticated, authenticate, twoAuthorizations } from './bearer.ts';
import type { ClientAddress } from './client-address.ts';
import type { Exchange } from './exchange.ts';
import type { KeysUsed } from './keys-used.ts';
import type { Places } from './places.ts';
import { RefusedKeys } from './refused-keys.ts';
import type { RateLimits } from './rate-limits/rate-limits.ts';

export type AccessParts = {
  readonly directory: Pick<Directory, 'authenticate'>;
  readonly addressOf: ClientAddress;
  readonly rates: RateLimits;
  readonly places: Places;
  readonly used: Pick<KeysUsed, 'note'>;
};

/** Who asks, if they may ask now and from there. The rate's headers go out with whatever is answered. */
export function admitCaller(parts: AccessParts, exchange: Exchange, req: HttpRequest): Authenticated {
  const admitted = admit(parts, exchange, req);
  if (admitted.ok) parts.used.note(admitted.principal.id);
  else noteRefused(parts, exchange, req, admitted.problem);
  return admitted;
}

function admit(parts: AccessParts, exchange: Exchange, req: HttpRequest): Authenticated {
  if (exchange.headerCounts.authorization > 1) return twoAuthorizations;
  const authenticated = authenticate(parts.directory, req.getHeader('authorization'));
  if (!authenticated.ok) return authenticated;
  const refusal = refuseAccess(parts, authenticated.principal, exchange, req);
  return refusal === null ? authenticated : { ok: false, problem: refusal };
}

const refusedKeys = new RefusedKeys();

/** One that asks too fast has shown who it is. */
function noteRefused({ addressOf }: AccessParts, { res }: Exchange, req: HttpRequest, { code }: Problem): void {
  if (code !== 'rate_limited') refusedKeys.note(code, req.getHeader('authorization'), () => addressOf(res, req));
}

/** A read: the same checks, and a slot among the requests at work. */
export function admitReader(parts: AccessParts, exchange: Exchange, req: HttpRequest): Authenticated {
  const authenticated = admitCaller(parts, exchange, req);
  if (!authenticated.ok) return authenticated;
  const refusal = holdAtWork(parts, exchange, authenticated.principal);
  return refusal === null ? authenticated : { ok: false, problem: refusal };
}

export function holdAtWork(
  { places }: AccessParts,
  exchange: Exchange,
  { account }: Principal,
  use: Use = 'ordinary',
): Problem | null {
  return exchange.hold(places.requests, account.accountId, use);
}

/** For forwarded routes. The control role authenticates again; an unauthenticated request does not reach it. */
export function admitForwarded(parts: AccessParts, exchange: Exchange, req: HttpRequest): Authenticated {
  const authenticated = admitCaller(parts, exchange, req);
  if (!authenticated.ok) metrics.refused.inc({ code: authenticated.problem.code });
  return authenticated;
}

function refuseAccess(parts: AccessParts, principal: Principal, exchange: Exchange, req: HttpRequest): Problem | null {
  if (asksForAddress(principal)) {
    const refusal = networkGate(principal, parts.addressOf(exchange.res, req));
    if (refusal !== null) return problem(403, refusal.code, refusal.detail);
  }
  const { headers, problem: tooFast } = parts.rates.ofRequest(principal);
  exchange.addHeaders(headers);
  return tooFast;
}
