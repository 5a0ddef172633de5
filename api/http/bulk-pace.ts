// How many messages of bulk work one ingress thread accepts in a second beside single messages. It follows the times
// that OTP take, as congestion control does: too many slow ones and the pace is halved, none and it grows. What is slow is
// decided where it is measured (platform/slow-times.ts): here for publishes, in the carriers' actors for the intents of
// OTP, which pass the bus and the actor's thread. Messages come a few at a time, because an OTP waits for all that
// were published together. Decision 174.
import type { Clock } from '../../platform/clock.ts';
import { limits } from '../../platform/limits.ts';
import { RecentSlowness, type SlowCount, SlowTimes } from '../../platform/slow-times.ts';
import { metrics } from '../../platform/telemetry.ts';

const { first, min, max, growth, shrinkTo, shrinkEveryMs, sliceEveryMs, itemsMax } = limits.bulkPace;

export class BulkPace {
  readonly #clock: Clock;
  #messagesPerS: number = first;
  /** Of what was received. */
  readonly #slowness: RecentSlowness;
  #shrunkAtMs = Number.NEGATIVE_INFINITY;
  readonly #publishes = new SlowTimes();

  constructor(clock: Clock) {
    this.#clock = clock;
    this.#slowness = new RecentSlowness(clock, limits.bulkPace);
    metrics.bulkPace.set(this.#messagesPerS);
  }

  get messagesPerS(): number {
    return this.#messagesPerS;
  }

  /** Messages of one slice: few, as often as a timer can fire without much work. */
  get itemsPerSlice(): number {
    return Math.min(Math.max(1, Math.round((this.#messagesPerS * sliceEveryMs) / 1_000)), itemsMax);
  }

  /** An OTP was durable after so long. */
  otpTook(ms: number): void {
    this.#publishes.note(ms);
    this.received(this.#publishes.take());
  }

  /** Times of OTP that were measured here or in an actor. */
  received(times: SlowCount): void {
    const nowMs = this.#clock.monotonicMs();
    this.#slowness.add(times);
    if (times.slow === 0 || !this.#slowness.isTooMuch || nowMs - this.#shrunkAtMs < shrinkEveryMs) return;
    this.#shrunkAtMs = nowMs;
    this.#become(this.#messagesPerS * shrinkTo);
  }

  /** A message of bulk work is being published. The pace grows by what is accepted: only that shows its effect. */
  tookMessage(): void {
    if (!this.#slowness.isTooMuch) this.#become(this.#messagesPerS + growth);
  }

  /** The pause before the next slice. */
  get pauseMs(): number {
    return (this.itemsPerSlice * 1_000) / this.#messagesPerS;
  }

  #become(messagesPerS: number): void {
    this.#messagesPerS = Math.min(Math.max(messagesPerS, min), max);
    metrics.bulkPace.set(this.#messagesPerS);
  }
}
