// Shares the runs of one asynchronous job among callers that need a result newer than their call: any number of
// concurrent callers cost two runs.
import { ignoring } from './errors.ts';

/**
 * Each caller gets the result of a run that started after its call; runs never overlap. A run that fails rejects for
 * those who waited for it, and the next call starts another. The job needs a deadline of its own.
 *
 * @example
 * const depths = new NextRun(() => overflowDepth(bus, 'otp', 'alpha'));
 * const [one, other] = await Promise.all([depths.result(), depths.result()]); // one request to the server
 */
export class NextRun<T> {
  readonly #work: () => Promise<T>;
  /** The latest run that has begun; it never rejects. */
  #running: Promise<void> = Promise.resolve();
  /** The run that begins when that one is over. */
  #next: Promise<T> | null = null;

  constructor(work: () => Promise<T>) {
    this.#work = work;
  }

  result(): Promise<T> {
    return (this.#next ??= this.#begin());
  }

  async #begin(): Promise<T> {
    await this.#running;
    this.#next = null;
    const run = this.#work();
    this.#running = run.then(
      () => {},
      (error: unknown) => ignoring(error, 'the callers of this run get its error'),
    );
    return run;
  }
}
