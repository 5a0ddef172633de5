// The answer to a path without a handler: 405 with the methods of a known path, otherwise 404. Pure, over the table of
// endpoints.
import { type Problem, problem } from '../problem.ts';
import type { Endpoint } from './endpoint.ts';

export type KnownPath = { readonly method: string; readonly path: string };

export const knownPathOf = ({ method, path }: Pick<Endpoint, 'method' | 'path'>): KnownPath => ({
  method: method.toUpperCase(),
  path,
});

/** `allow` is set when the path exists and the method does not. */
export function refuseUnrouted(
  method: string,
  path: string,
  known: readonly KnownPath[],
): { problem: Problem; allow?: string } {
  const methods = new Set(known.filter((route) => fits(route.path, path)).map((route) => route.method));
  // A known method without a handler: a hot route in another spelling (`/v1/%73ms`).
  if (methods.size === 0 || methods.has(method)) {
    return { problem: problem(404, 'not_found', 'there is no such route; see /docs') };
  }
  const allow = [...methods].flatMap((one) => (one === 'GET' ? ['GET', 'HEAD'] : [one])).join(', ');
  return { problem: problem(405, 'method_not_allowed', `this route has ${allow}`), allow };
}

function fits(pattern: string, path: string): boolean {
  const steps = pattern.split('/');
  const taken = path.split('/');
  return (
    steps.length === taken.length &&
    steps.every((step, at) => (step.startsWith('{') ? taken[at] !== '' : step === taken[at]))
  );
}
