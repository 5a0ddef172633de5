// The catch-all of the ingress: everything that runs for a request runs in it. A throw that nobody catches would end
// the whole process in a thread that listens with uWebSockets.js; here the request gets 500 and the log gets the
// cause.
import { messageOf } from '../../platform/errors.ts';
import { log } from '../../platform/log.ts';
import { problem } from '../problem.ts';
import type { Exchange } from './exchange.ts';

export type Guard = (exchange: Exchange, run: () => void | Promise<void>) => void;

export const guard: Guard = (exchange, run) => {
  try {
    const running = run();
    if (running !== undefined) running.catch((error: unknown) => answer(exchange, error));
  } catch (error) {
    answer(exchange, error);
  }
};

function answer(exchange: Exchange, error: unknown): void {
  log.error(
    {
      alarm: 'request_failed',
      route: exchange.route,
      requestId: exchange.requestId,
      error: messageOf(error),
      stack: error instanceof Error ? error.stack : undefined,
    },
    'a request failed',
  );
  try {
    exchange.refuse(problem(500, 'internal_error', 'something broke on our side; the log has the cause'));
  } catch (again) {
    log.error({ requestId: exchange.requestId, error: messageOf(again) }, 'a failed request could not be answered');
  }
}
