// Work with one key is done one after the other, in the order in which it came; with another key it does not wait.

type Work = (ended: () => void) => void;

export class InTurn {
  readonly #waiting = new Map<string, Work[]>();

  /** `work` begins at once or when the work before it has ended, and calls `ended` once. */
  add(key: string, work: Work): void {
    const before = this.#waiting.get(key);
    if (before !== undefined) {
      before.push(work);
      return;
    }
    this.#waiting.set(key, []);
    this.#begin(key, work);
  }

  #begin(key: string, work: Work): void {
    work(() => {
      const next = this.#waiting.get(key)?.shift();
      if (next === undefined) this.#waiting.delete(key);
      else this.#begin(key, next);
    });
  }
}
