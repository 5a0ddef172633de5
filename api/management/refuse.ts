// A Problem as an HTTP answer of the management API.
import type { Context } from 'hono';
import { type Problem, problemBody, problemContentType } from '../problem.ts';

export function answerProblem(c: Context<Variables>, of: Problem, headers: Record<string, string> = {}): Response {
  return c.body(problemBody(of, c.get('requestId')), of.status as 400, {
    'content-type': problemContentType,
    ...(of.retryAfterS === null ? {} : { 'retry-after': String(of.retryAfterS) }),
    // RFC 9110 section 15.5.2 asks for it.
    ...(of.status === 401 ? { 'www-authenticate': 'Bearer' } : {}),
    ...headers,
  });
}

/** What a request carries through the Hono app from one step to the next. */
export type Variables = { Variables: { requestId: string } };
