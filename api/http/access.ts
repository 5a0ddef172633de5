// Authenticates and admits a request: the API key of the Authorization header, looked up in the directory in memory,
// its allowed networks, and the rate limits of key and account. All of it runs before the body is read, so that an
// unauthenticated body costs no memory. Hot and forwarded routes use the same checks.
import type { HttpRequest } from 'uWebSockets.js';
import { type Principal, principalOfKey } from '../../acceptance/principal.ts';
import { type RateLimits, asksForAddress, networkGate } from '../../acceptance/principal-limits.ts';
import type { Directory } from '../../directory/contract.ts';
import { metrics } from '../../platform/telemetry.ts';
import type { Use } from '../../platform/shared-bound.ts';
import { type OrProblem, type Problem, problem, type ProblemCode, problemOf, problemOfRefusal } from '../problem.ts';
import type { ClientAddress } from './client-address.ts';
import type { Exchange } from './exchange.ts';
import type { KeysUsed } from './keys-used.ts';
import type { Places } from './places.ts';
import { rateHeaders } from './rate-headers.ts';
import { type Scope, splitApiKey } from '../../model/api-key.ts';
import { type IpAddress, formatIp } from '../../platform/ip-address.ts';
import { type Clock, systemClock } from '../../platform/clock.ts';
import { limits } from '../../platform/limits.ts';
import { log } from '../../platform/log.ts';
import { LogThrottle } from '../../platform/log-throttle.ts';

export type AccessParts = {
  readonly directory: Pick<Directory, 'authenticate'>;
  readonly addressOf: ClientAddress;
  readonly rates: RateLimits;
  readonly places: Places;
  readonly used: Pick<KeysUsed, 'note'>;
};

/** Authenticates the request and checks networks and rates. Adds the rate-limit headers to any answer. */
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

/** A rate-limited request has a valid key: it is not noted as refused. */
function noteRefused({ addressOf }: AccessParts, { res }: Exchange, req: HttpRequest, { code }: Problem): void {
  if (code !== 'rate_limited') refusedKeys.note(code, req.getHeader('authorization'), () => addressOf(res, req));
}

/** The same checks for a request without a body; it also takes a request slot and requires a scope. */
export function admitReader(parts: AccessParts, exchange: Exchange, req: HttpRequest, scope: Scope): Authenticated {
  const authenticated = admitCaller(parts, exchange, req);
  if (!authenticated.ok) return authenticated;
  const { principal } = authenticated;
  const refusal = holdAtWork(parts, exchange, principal) ?? missingScope(principal, scope);
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

/** For forwarded routes. The control role authenticates again; an unauthenticated request never reaches it. */
export function admitForwarded(parts: AccessParts, exchange: Exchange, req: HttpRequest): Authenticated {
  const authenticated = admitCaller(parts, exchange, req);
  if (!authenticated.ok) metrics.refused.inc({ code: authenticated.problem.code });
  return authenticated;
}

function refuseAccess(parts: AccessParts, principal: Principal, exchange: Exchange, req: HttpRequest): Problem | null {
  if (asksForAddress(principal)) {
    const refusal = networkGate(principal, parts.addressOf(exchange.res, req));
    if (refusal !== null) return problemOfRefusal(refusal);
  }
  return takeTurns(parts, exchange, principal);
}

/** Takes turns of the principal's rates, and says in the headers of any answer what is left. */
export function takeTurns({ rates }: AccessParts, exchange: Exchange, principal: Principal, turns = 1): Problem | null {
  const asked = rates.take(principal, turns);
  exchange.addHeaders(rateHeaders(asked));
  return asked.refused === null ? null : problemOf(asked.refused);
}

export type Authenticated = OrProblem<{ readonly principal: Principal }>;

const scheme = 'bearer ';

export function authenticate(directory: Pick<Directory, 'authenticate'>, authorization: string): Authenticated {
  const isBearer = authorization.slice(0, scheme.length).toLowerCase() === scheme;
  if (authorization !== '' && !isBearer) {
    return refused('invalid_api_key', 'the Authorization header must be: Bearer <API key>');
  }
  // Two headers that a proxy joined: no key contains a comma.
  if (authorization.includes(',')) return twoAuthorizations;
  const result = directory.authenticate(authorization.slice(scheme.length).trim());
  if (result.ok) return { ok: true, principal: principalOfKey(result) };
  return refused(
    result.code,
    result.code === 'missing_api_key'
      ? 'send the API key in the header Authorization: Bearer <API key>'
      : 'the API key is not known: mistyped, revoked or expired',
  );
}

/** Null when the key has the scope. */
export function missingScope(principal: Pick<Principal, 'scopes'>, scope: Scope): Problem | null {
  if (principal.scopes.includes(scope)) return null;
  return problem(403, 'scope_missing', `the API key lacks the scope ${scope}`);
}

function refused(code: 'missing_api_key' | 'invalid_api_key', detail: string) {
  return { ok: false, problem: problem(401, code, detail) } as const;
}

/** Either of the two keys might belong to the wrong account. */
export const twoAuthorizations = refused('invalid_api_key', 'the Authorization header must be given only once');

export type RefusedKey = {
  readonly code: ProblemCode;
  readonly publicId: string | null;
  readonly from: string;
  /** Refusals since the last line that were not logged. */
  readonly suppressed: number;
};

const toLog = (line: RefusedKey) => log.warn({ event: 'auth_refused', ...line }, 'an API key was refused');

/**
 * Counts requests with a refused API key by code, and logs some of them with address and public id: never the secret,
 * or a text that does not look like a key.
 */
export class RefusedKeys {
  readonly #throttle: LogThrottle;
  readonly #say: (line: RefusedKey) => void;

  constructor(clock: Clock = systemClock, say: (line: RefusedKey) => void = toLog) {
    this.#say = say;
    this.#throttle = new LogThrottle(limits.access.refusedLogEveryMs, clock);
  }

  /** `address` is called only when a line is written. */
  note(code: ProblemCode, authorization: string, address: () => IpAddress | null): void {
    metrics.authRefused.inc({ code });
    const suppressed = this.#throttle.allow();
    if (suppressed === null) return;
    const ip = address();
    const from = ip === null ? 'unknown' : formatIp(ip);
    this.#say({ code, publicId: publicIdIn(authorization), from, suppressed });
  }
}

/** Null when the text does not have the form of a key. */
export function publicIdIn(authorization: string): string | null {
  const token = /^bearer +(\S+)$/i.exec(authorization.trim())?.[1];
  return token === undefined ? null : (splitApiKey(token)?.publicId ?? null);
}

const refusedKeys = new RefusedKeys();
