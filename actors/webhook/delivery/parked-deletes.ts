// Deletes events from WEBHOOK_LOG that were delivered. Each is repeated until it is answered: what is there still would be
// read once more.
import { deleteFailed, isApiError, sequenceNotFound } from '../../../cluster/bus/api-errors.ts';
import type { Bus } from '../../../cluster/bus/connect.ts';
import { streamNames } from '../../../cluster/bus/streams.ts';
import type { Clock } from '../../../platform/clock.ts';
import { ignoring } from '../../../platform/errors.ts';

const repeatMs = 500;

export class ParkedDeletes {
  readonly #bus: Bus;
  readonly #clock: Clock;
  /** Those that were not answered. */
  readonly #running = new Set<Promise<void>>();
  #isClosed = false;

  constructor(bus: Bus, clock: Clock) {
    this.#bus = bus;
    this.#clock = clock;
  }

  async delete(seq: number): Promise<void> {
    const deleted = this.#deleteOnce(seq);
    this.#running.add(deleted);
    await deleted;
    this.#running.delete(deleted);
  }

  /** Resolves when those that run now are answered. */
  async idle(): Promise<void> {
    await Promise.all(this.#running);
  }

  /** Repeats nothing any more. */
  close(): void {
    this.#isClosed = true;
  }

  async #deleteOnce(seq: number): Promise<void> {
    while (!this.#isClosed) {
      try {
        // Without the overwriting of its octets, which costs a write of the whole block.
        await this.#bus.manager.streams.deleteMessage(streamNames.webhookLog, seq, false);
        return;
      } catch (error) {
        if (isApiError(error, sequenceNotFound) || isApiError(error, deleteFailed)) return;
        ignoring(error, 'the delete of a delivered event is repeated');
        await this.#clock.sleep(repeatMs);
      }
    }
  }
}
