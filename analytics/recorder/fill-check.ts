// After an upgrade, compares the tables that it filled with the counts they were made from, once more. A fill may have met
// what another recorder was just writing, and a range that is repeated after it feeds the new views with counts that
// the fill had. The recorder of the counts compares when neither is possible: it alone writes, it has repeated what was pending,
// and it writes nothing meanwhile. It compares a block of six hours at a time, between two batches, and inserts a bounded number of rows.
import type { Clock } from '../../platform/clock.ts';
import { messageOf } from '../../platform/errors.ts';
import { limits } from '../../platform/limits.ts';
import { log } from '../../platform/log.ts';
import { Fenced } from '../fenced-entry.ts';
import type { Engine } from '../store/engine.ts';
import { type Filled, blocksOf, fillOf, fillSome } from '../store/fill.ts';
import { type UncheckedFill, markChecked, uncheckedFills } from '../store/schema-fills.ts';

type FillCheckOptions = {
  readonly engine: Engine;
  /** The tables that the recorder writes. */
  readonly sources: readonly string[];
  /** Rejects with Fenced when another recorder has taken over. */
  readonly confirm: () => Promise<void>;
  readonly clock: Clock;
};

type OpenCheck = { readonly blocks: number[]; last: Filled | null; corrected: number };

export class FillCheck {
  readonly #options: FillCheckOptions;
  /** What is not compared yet; null: not known yet. */
  #fills: UncheckedFill[] | null = null;
  /** How far the first of them is. */
  #open: OpenCheck | null = null;
  #notBeforeMs = Number.NEGATIVE_INFINITY;

  constructor(options: FillCheckOptions) {
    this.#options = options;
  }

  /** Whether there is something to compare now. */
  get isDue(): boolean {
    return this.#fills?.length !== 0 && this.#options.clock.monotonicMs() >= this.#notBeforeMs;
  }

  /** Compares the next block. Rejects with Fenced only: what fails otherwise is tried again later, and recording goes on. */
  async step(): Promise<void> {
    const { clock } = this.#options;
    try {
      await this.#next();
    } catch (error) {
      if (error instanceof Fenced) throw error;
      this.#notBeforeMs = clock.monotonicMs() + limits.recorder.fillAgainMs;
      log.warn({ error: messageOf(error) }, 'a table that an upgrade filled cannot be compared with its counts now');
    }
  }

  async #next(): Promise<void> {
    const { engine, sources, confirm } = this.#options;
    this.#fills ??= await uncheckedFills(engine, sources);
    const [unchecked] = this.#fills;
    if (unchecked === undefined) return;
    // Read for each step: an upgrade by another process may have changed the view.
    const fill = await fillOf(engine, unchecked.view);
    this.#open ??= { blocks: [...(await blocksOf(engine, fill))], last: null, corrected: 0 };
    const { blocks } = this.#open;
    const newest = blocks.at(-1);
    if (newest !== undefined) {
      const filled = await fillSome(engine, fill, newest, confirm, this.#open.last);
      this.#open.corrected += filled.rows;
      this.#open.last = filled.rows > 0 ? filled : null;
      if (filled.rows > 0) return;
      blocks.pop();
    }
    if (blocks.length > 0) return;
    await markChecked(engine, unchecked);
    const { corrected } = this.#open;
    log.info({ table: fill.table, corrected }, 'a table that an upgrade filled is what its counts say');
    this.#open = null;
    this.#fills.shift();
  }
}
