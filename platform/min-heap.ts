// A binary heap. An item's order may change only while it is the first, followed by fixFirst(). The heap has no bound
// of its own: its owner bounds what it adds.

export class MinHeap<T> {
  readonly #isBefore: (one: T, other: T) => boolean;
  readonly #items: T[] = [];

  constructor(isBefore: (one: T, other: T) => boolean) {
    this.#isBefore = isBefore;
  }

  get size(): number {
    return this.#items.length;
  }

  get first(): T | undefined {
    return this.#items[0];
  }

  /** In no order. */
  all(): Iterable<T> {
    return this.#items;
  }

  add(item: T): void {
    this.#items.push(item);
    this.#up(this.#items.length - 1);
  }

  removeFirst(): void {
    this.#removeAt(0);
  }

  /** O(log n) for the first item, O(n) for any other; an item that is not in the heap changes nothing. */
  remove(item: T): void {
    const at = this.#items.indexOf(item);
    if (at >= 0) this.#removeAt(at);
  }

  /** Restores the heap after the order of the first item changed. */
  fixFirst(): void {
    if (this.#items.length > 0) this.#down(0);
  }

  #removeAt(at: number): void {
    const items = this.#items;
    const last = items.pop();
    if (last === undefined || at >= items.length) return;
    items[at] = last;
    this.#down(at);
    // The last item is from another branch and may belong above the removed one.
    if (items[at] === last) this.#up(at);
  }

  #up(from: number): void {
    const items = this.#items;
    const item = items[from] as T;
    let at = from;
    while (at > 0) {
      const parent = (at - 1) >> 1;
      if (!this.#isBefore(item, items[parent] as T)) break;
      items[at] = items[parent] as T;
      at = parent;
    }
    items[at] = item;
  }

  #down(from: number): void {
    const items = this.#items;
    const item = items[from] as T;
    let at = from;
    for (;;) {
      let child = 2 * at + 1;
      if (child >= items.length) break;
      const right = child + 1;
      if (right < items.length && this.#isBefore(items[right] as T, items[child] as T)) child = right;
      if (!this.#isBefore(items[child] as T, item)) break;
      items[at] = items[child] as T;
      at = child;
    }
    items[at] = item;
  }
}
