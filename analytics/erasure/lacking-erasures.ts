// What a store lacks that was restored from a backup: erasures from before this node began that the store has not carried
// out. Its rows are those of then, so nothing of it is answered until they are carried out again (decision 266). An erasure
// that a restart interrupted is one of them.
import type { Erasure } from '../../cluster/bus/erasures.ts';

export class LackingErasures {
  readonly #begunAtMs: number;
  /** Null: not compared yet. */
  #ids: Set<string> | null = null;

  constructor(begunAtMs: number) {
    this.#begunAtMs = begunAtMs;
  }

  /** All that the store lacks of those that are known. */
  compared(erasures: readonly Erasure[]): void {
    this.#ids = new Set(erasures.map(({ id }) => id));
  }

  /** One that the store has not carried out. It may have become known late, from another part of the system. */
  note({ id, atMs }: Erasure): void {
    if (atMs < this.#begunAtMs) this.#ids?.add(id);
  }

  carriedOut({ id }: Erasure): void {
    this.#ids?.delete(id);
  }

  has({ id }: Erasure): boolean {
    return this.#ids?.has(id) === true;
  }

  /** Why nothing of the store may be answered; null: it may. */
  get why(): string | null {
    if (this.#ids === null) return 'whether the store lacks erasures is not known yet';
    const { size } = this.#ids;
    return size === 0 ? null : `the store was restored and is read when erasures are carried out again (${size} left)`;
  }
}
