// The sequence in EVENTS that the next event of this carrier gets at least: what a message needs to be read again begins
// there. The writer knows how far it has written, the replay floor how far the stream had come when it last looked.
export class EventSequence {
  readonly #writtenTo: () => number;
  #seenTo = 0;

  /** `writtenTo`: events of this life get higher sequences than this. */
  constructor(writtenTo: () => number) {
    this.#writtenTo = writtenTo;
  }

  /** The stream ends there, as far as is known; lower than before when it was recreated. */
  seen(lastSeq: number): void {
    this.#seenTo = lastSeq;
  }

  /** No event written from now on gets a lower one. */
  get next(): number {
    return Math.max(this.#writtenTo(), this.#seenTo) + 1;
  }
}
