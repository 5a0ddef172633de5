// Turns of the event loop for work that is done in slices, such as batches: one slice of one of them in each turn, in the
// order they asked. However many batches are at work, everybody else waits for one slice and not for as many.
import { nextTurn } from '../../platform/clock.ts';

export class SliceTurns {
  readonly #waiting: (() => void)[] = [];
  #running = false;

  /** Resolves in a turn of its own: whoever waits works until its next await and then asks again. */
  next(): Promise<void> {
    return new Promise((resolve) => {
      this.#waiting.push(resolve);
      if (!this.#running) void this.#run();
    });
  }

  async #run(): Promise<void> {
    this.#running = true;
    for (;;) {
      await nextTurn();
      const next = this.#waiting.shift();
      if (next === undefined) break;
      next();
    }
    this.#running = false;
  }
}
