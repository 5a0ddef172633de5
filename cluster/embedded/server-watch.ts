// Asks an embedded server at an interval, from its readiness to its end, and counts its answers: the supervisor reports one whose
// count stands still. What a silence leads to is the server's own.
import { type Clock, systemClock } from '../../platform/clock.ts';
import { ignoring } from '../../platform/errors.ts';
import type { EmbeddedServer } from './server-process.ts';

export type Unwatched = Omit<EmbeddedServer, 'answers'>;

type ServerWatchOptions = {
  /** Rejects when the server does not answer. One at a time. */
  readonly ask: () => Promise<void>;
  readonly lookEveryMs: number;
  readonly clock?: Clock | undefined;
  readonly onAnswer?: () => void;
  readonly onSilence?: (error: unknown) => void;
};

export function watchServer(
  server: Unwatched,
  { ask, lookEveryMs, clock = systemClock, onAnswer, onSilence }: ServerWatchOptions,
): EmbeddedServer {
  const over = new AbortController();
  void server.exited.then(() => over.abort(new Error('the server has ended')));
  let answers = 0;

  async function watch(): Promise<void> {
    while (!over.signal.aborted) {
      await clock.sleep(lookEveryMs, over.signal).catch((error) => ignoring(error, 'the server has ended'));
      if (over.signal.aborted) return;
      try {
        await ask();
        answers += 1;
        onAnswer?.();
      } catch (error) {
        ignoring(error, 'an embedded server did not answer this time');
        if (!over.signal.aborted) onSilence?.(error);
      }
    }
  }

  return {
    ...server,
    answers: () => answers,
    async ready(limitMs) {
      await server.ready(limitMs);
      void watch();
    },
    stop(limitMs) {
      over.abort(new Error('the server was asked to stop'));
      return server.stop(limitMs);
    },
  };
}
