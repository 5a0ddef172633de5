// Authenticates an API key: looks the key of the Authorization header up in the directory in memory, and returns its
// principal or the refusal. It runs before the body is read, so that no memory is spent on the body of an
// unauthenticated request.
import { type Principal, principalOfKey } from '../../acceptance/principal.ts';
import type { Directory } from '../../directory/contract.ts';
import type { Scope } from '../../model/api-key.ts';
import { type Problem, problem } from '../problem.ts';

export type Authenticated =
  | { readonly ok: true; readonly principal: Principal }
  | { readonly ok: false; readonly problem: Problem };

const scheme = 'bearer ';

export function authenticate(directory: Pick<Directory, 'authenticate'>, authorization: string): Authenticated {
  const isBearer = authorization.slice(0, scheme.length).toLowerCase() === scheme;
  if (authorization !== '' && !isBearer) {
    return refused('invalid_api_key', 'the Authorization header must be: Bearer <API key>');
  }
  // Two headers that a server joined; no key has a comma.
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

/** Whichever of the two was taken, it might be the wrong account's. */
export const twoAuthorizations = refused('invalid_api_key', 'the Authorization header must be given only once');
