// Small numbers for the few texts that many rows share (carriers, error codes), so that columns of rows and the states of
// messages fit into arrays of numbers.

export class Names {
  readonly #texts: string[] = [''];
  readonly #indexes = new Map([['', 0]]);

  /** Each at its number. */
  get texts(): readonly string[] {
    return this.#texts;
  }

  /** The number of this text; 0 is the empty one. */
  indexOf(text: string): number {
    const known = this.#indexes.get(text);
    if (known !== undefined) return known;
    const index = this.#texts.push(text) - 1;
    this.#indexes.set(text, index);
    return index;
  }

  textOf(index: number): string {
    return this.#texts[index] ?? '';
  }
}
