// What a request must pass once it is known who asks and before anything is read or done: the networks its key may be
// used from, and the rates of key and account. The same for hot routes and for those that go to the control role.
import type { HttpRequest } from 'uWebSockets.js';
import type { Directory } from '../../cluster/directory/contract.ts';
import { metrics } from '../../platform/telemetry.ts';
import { asksForAddress, networkGate } from '../../policy/admission/network-gate.ts';
import { type Problem, problem } from '../problem.ts';
import { type Authenticated, type Caller, authenticate, twoAuthorizations } from './bearer.ts';
import type { ClientAddress } from './client-address.ts';
import type { Exchange } from './exchange.ts';
import type { RateLimits } from './rate-limits/rate-limits.ts';

export type AccessParts = {
  readonly directory: Pick<Directory, 'authenticate'>;
  readonly addressOf: ClientAddress;
  readonly rates: RateLimits;
};

/** Who asks, if they may ask now and from there. The rate's headers go out with whatever is answered. */
export function admitCaller(parts: AccessParts, exchange: Exchange, req: HttpRequest): Authenticated {
  if (exchange.times.authorization > 1) return twoAuthorizations;
  const authenticated = authenticate(parts.directory, req.getHeader('authorization'));
  if (!authenticated.ok) return authenticated;
  const refusal = refuseAccess(parts, authenticated.caller, exchange, req);
  return refusal === null ? authenticated : { ok: false, problem: refusal };
}

/** For routes that are answered elsewhere: whoever is not known is left to them. */
export function refuseForwarded(parts: AccessParts, exchange: Exchange, req: HttpRequest): Problem | null {
  if (exchange.times.authorization > 1) return counted(twoAuthorizations.problem);
  const authorization = req.getHeader('authorization');
  if (authorization === '') return null;
  const authenticated = authenticate(parts.directory, authorization);
  if (!authenticated.ok) return null;
  const refusal = refuseAccess(parts, authenticated.caller, exchange, req);
  return refusal === null ? null : counted(refusal);
}

function counted(refusal: Problem): Problem {
  metrics.refused.inc({ code: refusal.code });
  return refusal;
}

function refuseAccess(parts: AccessParts, caller: Caller, exchange: Exchange, req: HttpRequest): Problem | null {
  if (asksForAddress(caller)) {
    const refusal = networkGate(caller, parts.addressOf(exchange.res, req));
    if (refusal !== null) return problem(403, refusal.code, refusal.detail);
  }
  const { headers, problem: tooFast } = parts.rates.ofRequest(caller.key, caller.account);
  exchange.carry(headers);
  return tooFast;
}
