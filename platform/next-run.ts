// Shares the runs of one piece of work among those who need a result that is newer than their question: many askers cost
// two runs, however many they are.
import { ignoring } from './errors.ts';

/**
 * Whoever asks gets the result of a run that began after the question; no two run at once. A run that fails fails for
 * those who waited for it, and the next question begins another. The work needs a deadline of its own.
 *
 * @example
 * const depths = new NextRun(() => overflowDepth(bus, 'otp', 'alpha'));
 * const [one, other] = await Promise.all([depths.result(), depths.result()]); // one request at the server
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
    this.#next ??= this.#begin();
    return this.#next;
  }

  async #begin(): Promise<T> {
    await this.#running;
    this.#next = null;
    const run = this.#work();
    this.#running = run.then(
      () => {},
      (error: unknown) => ignoring(error, 'those who wait for this run are told'),
    );
    return run;
  }
}
