// Where a message waits in its lane. Only the queue (queue/fair-queue.ts) reads and writes it; the message carries it
// so that it can be removed from the queue at once. Types only.

/** What may wait in a queue. */
export type Turned = {
  readonly message: { readonly accountId: string; readonly segments: number };
  /** Owned by the queue; null when it is in none. */
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
  /** Its virtual time: segments served, divided by its weight. */
  at: number;
  /** Breaks ties: the earlier arrival goes first. */
  readonly arrival: number;
  first: Entry<T> | null;
  last: Entry<T> | null;
  size: number;
};
