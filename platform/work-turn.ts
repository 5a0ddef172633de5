// Long work of a thread gives other work a turn of the event loop every few milliseconds.
import { type Clock, nextTurn } from './clock.ts';

/** How long work goes on before others get a turn. */
const turnMsMax = 5;

/**
 * ```ts
 * const turn = new WorkTurn(clock);
 * for (const item of items) {
 *   if (turn.isOver) await turn.next();
 *   work(item);
 * }
 * ```
 */
export class WorkTurn {
  readonly #clock: Clock;
  #endsMs: number;

  constructor(clock: Clock) {
    this.#clock = clock;
    this.#endsMs = clock.monotonicMs() + turnMsMax;
  }

  get isOver(): boolean {
    return this.#clock.monotonicMs() >= this.#endsMs;
  }

  async next(): Promise<void> {
    await nextTurn();
    this.#endsMs = this.#clock.monotonicMs() + turnMsMax;
  }
}

/** `[...items].map(work)`, in as many turns as it takes. */
export async function mapInTurns<T, R>(items: Iterable<T>, work: (item: T) => R, clock: Clock): Promise<R[]> {
  const turn = new WorkTurn(clock);
  const results: R[] = [];
  for (const item of items) {
    if (turn.isOver) await turn.next();
    results.push(work(item));
  }
  return results;
}
