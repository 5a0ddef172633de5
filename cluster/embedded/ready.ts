// Waits until a server answers; reports the last error when it never does.
import { DeadlineExceeded, until } from '../../platform/deadline.ts';
import { ignoring, messageOf } from '../../platform/errors.ts';

export type ReadyOptions = {
  /** The name of its log file: `nats-server`. */
  readonly name: string;
  /** Resolves when the server answers, otherwise rejects. */
  readonly ask: () => Promise<unknown>;
  readonly limitMs: number;
  /** The server's end, which ends the wait early. */
  readonly ended: Promise<unknown> | undefined;
};

export async function untilReady({ name, ask, limitMs, ended }: ReadyOptions): Promise<void> {
  let hasEnded = false;
  void ended?.then(() => {
    hasEnded = true;
  });
  let lastError: unknown;
  const answers = async () => {
    if (hasEnded) throw new Error(`${name} ended before it was ready: see ${name}.log in the data folder`);
    try {
      await ask();
      return true;
    } catch (error) {
      lastError = error;
      ignoring(error, `${name} is not ready yet`);
      return false;
    }
  };
  try {
    await until(name, answers, { limitMs, everyMs: 20 });
  } catch (error) {
    if (!(error instanceof DeadlineExceeded)) throw error;
    throw new Error(`${error.message}: ${messageOf(lastError)}`, { cause: lastError });
  }
}
