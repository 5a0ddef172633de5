// Ends an embedded nats-server that runs but does not answer, so that the supervisor restarts it: nats-server 2.9.10
// waits for a lock when a stream's file cannot grow (disk full), and does not recover when there is space again.
// Killing it loses nothing that was acknowledged. One missed answer is never enough.
import { type Clock, systemClock } from '../../platform/clock.ts';
import { ignoring, messageOf } from '../../platform/errors.ts';
import { limits } from '../../platform/limits.ts';
import { log } from '../../platform/log.ts';
import type { EmbeddedServer } from './embedded-server.ts';

export type NatsWatchOptions = {
  readonly lookEveryMs?: number;
  /** Consecutive unanswered checks before it is ended. */
  readonly silencesMax?: number;
  readonly clock?: Clock;
};

/** The server, watched from readiness to its end. `ask` rejects when JetStream does not answer. */
export function watchedNats(
  server: EmbeddedServer,
  ask: () => Promise<void>,
  options: NatsWatchOptions = {},
): EmbeddedServer {
  const { lookEveryMs, silencesMax } = { ...limits.supervision.natsWatch, ...options };
  const { clock = systemClock } = options;
  const over = new AbortController();
  void server.exited.then(() => over.abort(new Error('the server has ended')));
  let silences = 0;

  async function watch(): Promise<void> {
    while (!over.signal.aborted) {
      await clock.sleep(lookEveryMs, over.signal).catch((error) => ignoring(error, 'the server has ended'));
      if (over.signal.aborted) return;
      try {
        await ask();
        silences = 0;
      } catch (error) {
        silences += 1;
        ignoring(error, 'JetStream did not answer this time');
        if (silences < silencesMax || over.signal.aborted) continue;
        log.error(
          { alarm: 'nats_unresponsive', silences, error: messageOf(error) },
          'nats-server runs and does not answer: it is ended and restarted. Is its disk full?',
        );
        return server.kill();
      }
    }
  }

  return {
    ...server,
    async ready(limitMs) {
      await server.ready(limitMs);
      void watch();
    },
    stop(limitMs) {
      over.abort(new Error('the server was asked to stop'));
      return server.stop(limitMs);
    },
    health: () => ({ ok: silences === 0, detail: silences === 0 ? '' : `does not answer (${silences} times)` }),
  };
}
