// Refuses query parameters, by name, on routes that have none: if `?dry_run=explain` were silently ignored, the
// message would be sent.
import type { HttpRequest } from 'uWebSockets.js';
import { type Problem, problemOfFields } from '../problem.ts';

/** Null when the request has no query parameter. */
export function refuseQuery(req: HttpRequest): Problem | null {
  const query = req.getQuery() ?? '';
  if (query === '') return null;
  const [first, ...others] = [...new Set(new URLSearchParams(query).keys())].slice(0, namesShownMax).map(unknown);
  return first === undefined ? null : problemOfFields(422, [first, ...others]);
}

const unknown = (field: string) =>
  ({ field, code: 'unknown_field', detail: 'this route has no query parameters' }) as const;
const namesShownMax = 10;
