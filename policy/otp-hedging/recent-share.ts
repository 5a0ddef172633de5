// How many of the last things were of one kind, in three numbers: each new one makes those before it weigh a little
// less, so that about the last `last` of them count. Pure.
export class RecentShare {
  readonly #keep: number;
  #all = 0;
  #such = 0;

  constructor(last: number) {
    this.#keep = 1 - 1 / last;
  }

  add(isSuch: boolean): void {
    this.#all = this.#all * this.#keep + 1;
    this.#such = this.#such * this.#keep + (isSuch ? 1 : 0);
  }

  /** Lets all of them count less, because they are old. `left` from 0 to 1. */
  fade(left: number): void {
    this.#all *= left;
    this.#such *= left;
  }

  /** Null while fewer than `countMin` count. */
  share(countMin: number): number | null {
    return this.#all >= countMin ? this.#such / this.#all : null;
  }
}

/**
 * A recent share without what is usual beyond `expected`: a carrier many of whose subscribers are out of reach is not in
 * an outage for that. At most `usualMax` is taken off, so that no outage ever becomes usual.
 */
export function unusualShare(
  recent: number,
  usual: number | null,
  { expected, usualMax }: { readonly expected: number; readonly usualMax: number },
): number {
  return recent - Math.min(usualMax, Math.max(0, (usual ?? expected) - expected));
}
