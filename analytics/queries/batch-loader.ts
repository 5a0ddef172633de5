// Loads in batches: queries that arrive during a statement are answered together by the next one, so a hundred cost one
// look-up, and no queue builds up at the engine, which runs one statement at a time. Queries that nobody's message
// waits for can be gathered for a moment before each statement.
import { type Clock, systemClock } from '../../platform/clock.ts';
import { RetryLater } from '../../platform/errors.ts';
import { limits } from '../../platform/limits.ts';

/**
 * `readMany` returns answers in the order of its queries. The query server bounds the number of waiting queries.
 * `gather` is awaited before each statement; what arrives meanwhile is a part of it.
 *
 * A query that has waited for `limits.queries.statementWaitMsMax` when a statement begins is not read: it rejects with
 * RetryLater. Else, with more queries than the engine can answer, each would be read after its deadline, and none answered.
 */
export function batchLoader<Query, Answer>(
  atOnceMax: number,
  readMany: (queries: readonly Query[]) => Promise<readonly Answer[]>,
  gather: (() => Promise<void>) | null = null,
  clock: Clock = systemClock,
): (query: Query) => Promise<Answer> {
  type Asked = {
    readonly query: Query;
    readonly atMs: number;
    readonly resolve: (answer: Answer) => void;
    readonly reject: (error: unknown) => void;
  };
  let waiting: Asked[] = [];
  let running = false;

  /** The queries of the next statement. */
  function next(): readonly Asked[] {
    const lateBeforeMs = clock.monotonicMs() - limits.queries.statementWaitMsMax;
    const inTime = waiting.findIndex(({ atMs }) => atMs > lateBeforeMs);
    const from = inTime === -1 ? waiting.length : inTime;
    for (const { reject } of waiting.slice(0, from)) reject(new RetryLater('too many queries wait', 100));
    const asked = waiting.slice(from, from + atOnceMax);
    waiting = waiting.slice(from + atOnceMax);
    return asked;
  }

  async function run(): Promise<void> {
    running = true;
    while (waiting.length > 0) {
      if (gather !== null) await gather();
      const asked = next();
      if (asked.length === 0) continue;
      try {
        const answers = await readMany(asked.map(({ query }) => query));
        asked.forEach(({ resolve }, at) => resolve(answers[at] as Answer));
      } catch (error) {
        for (const { reject } of asked) reject(error);
      }
    }
    running = false;
  }

  return (query) =>
    new Promise((resolve, reject) => {
      waiting.push({ query, atMs: clock.monotonicMs(), resolve, reject });
      if (!running) void run();
    });
}
