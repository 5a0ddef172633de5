// Routes whose answer comes from the bus: while it does not answer, the result of a change is unknown.
import { messageOf } from '../../platform/errors.ts';
import { log } from '../../platform/log.ts';
import { problem } from '../problem.ts';
import type { HandlerResult } from './endpoint.ts';

/** `failed` is for the log; `unknown` says what may have happened, and what to do. */
export async function onTheBus(
  { failed, unknown }: { readonly failed: string; readonly unknown: string },
  work: () => Promise<HandlerResult>,
): Promise<HandlerResult> {
  try {
    return await work();
  } catch (error) {
    log.warn({ error: messageOf(error) }, failed);
    return { problem: problem(503, 'control_plane_unavailable', `the bus did not answer; ${unknown}`, 2) };
  }
}
