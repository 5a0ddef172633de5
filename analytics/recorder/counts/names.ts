// Small numbers for the few texts that many messages share (carriers, error codes), so that states of messages fit into
// arrays of numbers.

export class Names {
  readonly #texts: string[] = [''];
  readonly #indexes = new Map([['', 0]]);

  get size(): number {
    return this.#texts.length;
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
