// Time in which the lanes' consumers were heard. An ack that was sent while they were not may be lost, and its record
// comes again when they are back, however long that takes: so what is remembered for lost acks is forgotten by this time.
import type { Clock } from '../../../platform/clock.ts';

export class ConsumerUptime {
  readonly #clock: Clock;
  #ms = 0;
  #lookedAtMs: number;

  constructor(clock: Clock) {
    this.#clock = clock;
    this.#lookedAtMs = clock.monotonicMs();
  }

  /** As of the last look. */
  get ms(): number {
    return this.#ms;
  }

  /** Called every few seconds: what passed since the last look counts when all were heard. */
  look(isHeard: boolean): number {
    const nowMs = this.#clock.monotonicMs();
    if (isHeard) this.#ms += nowMs - this.#lookedAtMs;
    this.#lookedAtMs = nowMs;
    return this.#ms;
  }
}
