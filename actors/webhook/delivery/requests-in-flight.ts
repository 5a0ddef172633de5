// Counts the requests of all endpoints that were sent and have not ended, for a stop that waits for their answers.
import type { Clock } from '../../../platform/clock.ts';
import { withDeadline } from '../../../platform/deadline.ts';
import { ignoring } from '../../../platform/errors.ts';

export class RequestsInFlight {
  #count = 0;
  #allEnded: () => void = () => {};

  get count(): number {
    return this.#count;
  }

  began(): void {
    this.#count += 1;
  }

  ended(): void {
    this.#count -= 1;
    if (this.#count === 0) this.#allEnded();
  }

  /** Resolves when all have ended, or after so long. No further one begins meanwhile. */
  async wait(withinMs: number, clock: Clock): Promise<void> {
    if (this.#count === 0) return;
    const ended = new Promise<void>((resolve) => {
      this.#allEnded = resolve;
    });
    await withDeadline('the answers of webhooks', withinMs, ended, clock).catch((error: unknown) =>
      ignoring(error, 'requests without an answer are made again by the next process'),
    );
  }
}
