// A lower bound for the EVENTS sequence of this carrier's next event: reading from there finds it. The writer knows how
// far it has written, the replay floor how far the stream had come when it last looked.
export class EventSequence {
  readonly #writtenTo: () => number;
  #seenTo = 0;

  /** `writtenTo`: events of this incarnation get higher sequences than this. */
  constructor(writtenTo: () => number) {
    this.#writtenTo = writtenTo;
  }

  /** The last sequence of the stream; lower than before when it was recreated. */
  seen(lastSeq: number): void {
    this.#seenTo = lastSeq;
  }

  /** No event written from now on gets a lower sequence. */
  get next(): number {
    return Math.max(this.#writtenTo(), this.#seenTo) + 1;
  }
}
