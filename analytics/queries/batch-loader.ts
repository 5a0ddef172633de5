// Loads in batches: queries that arrive during a statement are answered together by the next one, so a hundred cost one
// look-up, and no queue builds up at the engine, which runs one statement at a time. Queries that nobody's message
// waits for can be gathered for a moment before each statement.

/**
 * `readMany` returns answers in the order of its queries. The query server bounds the number of waiting queries.
 * `gather` is awaited before each statement; what arrives meanwhile is a part of it.
 */
export function batchLoader<Query, Answer>(
  atOnceMax: number,
  readMany: (queries: readonly Query[]) => Promise<readonly Answer[]>,
  gather: (() => Promise<void>) | null = null,
): (query: Query) => Promise<Answer> {
  type Asked = {
    readonly query: Query;
    readonly resolve: (answer: Answer) => void;
    readonly reject: (error: unknown) => void;
  };
  let waiting: Asked[] = [];
  let running = false;

  async function run(): Promise<void> {
    running = true;
    while (waiting.length > 0) {
      if (gather !== null) await gather();
      const asked = waiting.slice(0, atOnceMax);
      waiting = waiting.slice(atOnceMax);
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
      waiting.push({ query, resolve, reject });
      if (!running) void run();
    });
}
