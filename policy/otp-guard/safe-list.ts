// Numbers and prefixes of numbers that no rule refuses. What is sent to them counts nowhere, so that it makes no block of
// the numbers around them either. Every code that is sent asks, so a list of a thousand entries must not be walked through.

export class SafeList {
  readonly #prefixes: ReadonlySet<string>;

  /** With the plus sign. */
  constructor(prefixes: readonly string[]) {
    this.#prefixes = new Set(prefixes);
  }

  has(to: string): boolean {
    if (this.#prefixes.size === 0) return false;
    for (let length = 2; length <= to.length; length += 1) {
      if (this.#prefixes.has(to.slice(0, length))) return true;
    }
    return false;
  }
}
