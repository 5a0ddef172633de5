// Waits until a server answers. When it never does, the last reason is reported.
import { DeadlineExceeded, until } from '../../platform/deadline.ts';
import { ignoring, messageOf } from '../../platform/errors.ts';

export type ReadyOptions = {
  /** As in its log file: `nats-server`. */
  readonly name: string;
  /** Resolves when it answers; rejects as long as it does not. */
  readonly ask: () => Promise<unknown>;
  readonly limitMs: number;
  /** The server's end ends the wait early. */
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
