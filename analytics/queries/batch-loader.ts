// Loads in batches: queries that arrive while another is answered are answered together by the next statement, so a
// hundred cost one look-up, and the engine, which runs one statement at a time, builds up no queue.

/** `readMany` answers in the order of its questions. What waits is bounded by the questions the answerer lets in. */
export function batchLoader<Query, Answer>(
  atOnceMax: number,
  readMany: (queries: readonly Query[]) => Promise<readonly Answer[]>,
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
