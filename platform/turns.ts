// Grants turns one after another, first come, first served, with a pause before each: bulk work of several callers then
// takes no more than one turn in a pause.
/**
 * ```ts
 * const turns = new Turns(() => clock.sleep(20));
 * for (const part of parts) {
 *   await turns.next();
 *   work(part);
 * }
 * ```
 */
export class Turns {
  readonly #pause: () => Promise<void>;
  readonly #waiting: (() => void)[] = [];
  #running = false;

  constructor(pause: () => Promise<void>) {
    this.#pause = pause;
  }

  next(): Promise<void> {
    return new Promise((resolve) => {
      this.#waiting.push(resolve);
      if (!this.#running) void this.#run();
    });
  }

  async #run(): Promise<void> {
    this.#running = true;
    for (;;) {
      await this.#pause();
      const next = this.#waiting.shift();
      if (next === undefined) break;
      next();
    }
    this.#running = false;
  }
}
