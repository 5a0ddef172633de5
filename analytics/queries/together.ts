// Questions that come while another is being answered are answered together by the next statement, so a crowd costs
// one look-up for a hundred of them, and the engine, which takes one question at a time, is never queued up.

/** `readMany` answers in the order of its questions. What waits is bounded by the questions the answerer lets in. */
export function together<Question, Answer>(
  atOnceMax: number,
  readMany: (questions: readonly Question[]) => Promise<readonly Answer[]>,
): (question: Question) => Promise<Answer> {
  type Asked = {
    readonly question: Question;
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
        const answers = await readMany(asked.map(({ question }) => question));
        asked.forEach(({ resolve }, at) => resolve(answers[at] as Answer));
      } catch (error) {
        for (const { reject } of asked) reject(error);
      }
    }
    running = false;
  }

  return (question) =>
    new Promise((resolve, reject) => {
      waiting.push({ question, resolve, reject });
      if (!running) void run();
    });
}
