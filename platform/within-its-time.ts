// A statement that took as long as its max_execution_time has no answer. The engine ends it with an error then, but now and
// then with a part of its rows and no error (chDB 26.7: one in ten): exports and reports would lack rows without a word.
import { systemClock } from './clock.ts';

/** Rejects when `run` took `limitMs`, whatever it answered. */
export async function withinItsTime<T>(limitMs: number, run: () => Promise<T>): Promise<T> {
  const startedAtMs = systemClock.monotonicMs();
  const answer = await run();
  if (systemClock.monotonicMs() - startedAtMs < limitMs) return answer;
  throw new Error(`TIMEOUT_EXCEEDED: the statement took ${limitMs} ms, so what it answered may be a part`);
}

/** The limit that a statement sets for itself; infinite without one. */
export const limitMsIn = (sql: string): number =>
  Number(/max_execution_time = ([\d.]+)/.exec(sql)?.[1] ?? Number.POSITIVE_INFINITY) * 1_000;
