// Where a message waits in its lane. The queue alone (queue/fair-queue.ts) reads and writes it; a message only carries it,
// so that what leaves without its turn is taken out at once. Types alone.

/** What may wait in a queue. */
export type Turned = {
  readonly message: { readonly accountId: string; readonly segments: number };
  /** Where it waits, kept by the queue; null when it is in none. */
  place: Place | null;
};

export type Place = Entry<Turned>;

export type Entry<T> = {
  readonly item: T;
  readonly share: Share<T>;
  before: Entry<T> | null;
  next: Entry<T> | null;
};

/** One account's part of the lane. */
export type Share<T> = {
  readonly account: string;
  /** Its place on the line: segments served, each divided by its weight. */
  at: number;
  /** Between equal places who came first. */
  readonly arrival: number;
  first: Entry<T> | null;
  last: Entry<T> | null;
  size: number;
};
