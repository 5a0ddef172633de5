// A Problem as an HTTP answer of the management API.
import type { Context } from 'hono';
import { type Problem, problemBody, problemContentType, problemHeaders } from '../problem.ts';

export function answerProblem(c: Context<Variables>, of: Problem, headers: Record<string, string> = {}): Response {
  return c.body(problemBody(of, c.get('requestId')), of.status as 400, {
    'content-type': problemContentType,
    ...Object.fromEntries(problemHeaders(of)),
    ...headers,
  });
}

/** The values that a request carries through the Hono app. */
export type Variables = { Variables: { requestId: string } };
