// Decides which of two nodes may send a message when both got its record: the one whose intent is first in EVENTS. Only
// the order of that stream is the same for all nodes; ack deadlines pass without notice, delivery counts restart when a
// server dies, clocks differ. So after an intent is durable its node reads everything that precedes it. A single node
// does not need this.
import type { DeliveryEvent } from '../../../model/delivery-event.ts';
import type { Clock } from '../../../platform/clock.ts';
import { limits } from '../../../platform/limits.ts';
import { attemptNumber, delaysOf, deliveryKey } from '../in-flight/attempt.ts';
import type { InFlightMessage } from '../in-flight/in-flight-message.ts';
import type { ClaimKind, ClaimStatus, IntentClaims } from '../deduplication/intent-claims.ts';
import type { EventPosition, ReplayIndex, ReplayStatus } from '../deduplication/replay-index.ts';

type Waiting = { readonly epoch: number; readonly sinceMs: number; readonly resolve: (status: ClaimStatus) => void };

export class ClusterClaims implements IntentClaims {
  readonly #replayIndex: ReplayIndex;
  readonly #epoch: () => number;
  readonly #clock: Clock;
  readonly #waiting = new Map<string, Waiting>();
  /** Claims read in EVENTS before their publish was acknowledged. */
  readonly #passed = new Map<string, { readonly epoch: number; readonly status: ReplayStatus }>();

  constructor(replayIndex: ReplayIndex, epoch: () => number, clock: Clock) {
    this.#replayIndex = replayIndex;
    this.#epoch = epoch;
    this.#clock = clock;
  }

  epoch(): number {
    return this.#epoch();
  }

  confirm(kind: ClaimKind, inFlight: InFlightMessage, answer: (status: ClaimStatus) => void): void {
    const { epoch } = inFlight;
    const then = (status: ClaimStatus) => {
      // We may have had it in flight since before another node decided to send it once more: this is that one time.
      this.#replayIndex.markResent(inFlight);
      answer(status);
    };
    // Another incarnation of this node: what it began before is over.
    if (epoch !== this.#epoch()) return then('lost');
    const name = nameOf(kind, inFlight.key, attemptNumber(inFlight.message.delays, inFlight.tries));
    const passed = this.#passed.get(name);
    this.#passed.delete(name);
    if (passed !== undefined && passed.epoch === epoch) return then(passed.status);
    this.#waiting.set(name, { epoch, sinceMs: this.#clock.monotonicMs(), resolve: then });
  }

  /** Every event of the carrier in stream order, including our own. The replay index learns it here. */
  learn(event: DeliveryEvent, isOwn: boolean, place?: EventPosition): void {
    const { kind } = event;
    if (!isOwn || (kind !== 'intent' && kind !== 'rerouted')) return this.#replayIndex.learn(event, place);
    const key = deliveryKey(event.messageId, event.hop, delaysOf(event.attempt));
    const status = this.#replayIndex.claimStatus(key, event.epoch);
    this.#replayIndex.learn(event, place);
    this.#resolve(nameOf(kind, key, event.attempt), event.epoch, status);
  }

  /** For how long something durable was not read in EVENTS: when long, the reading is broken. */
  get behindMs(): number {
    const { value: oldest } = this.#waiting.values().next();
    return oldest === undefined ? 0 : Math.max(0, this.#clock.monotonicMs() - oldest.sinceMs);
  }

  /** Answers claims that have waited too long: the bus is down, or EVENTS cannot be read. */
  sweep(): void {
    const beforeMs = this.#clock.monotonicMs() - limits.carrier.claimWaitMs;
    this.#lose(({ sinceMs, epoch }) => sinceMs <= beforeMs || epoch !== this.#epoch());
  }

  /** We stop reading: what still waits is published as not written, or its intent would stay open. */
  end(): void {
    this.#lose(() => true);
  }

  #lose(isSo: (waiting: Waiting) => boolean): void {
    for (const [name, waiting] of this.#waiting) {
      if (!isSo(waiting)) continue;
      this.#waiting.delete(name);
      waiting.resolve('lost');
    }
  }

  #resolve(name: string, epoch: number, status: ReplayStatus): void {
    const waiting = this.#waiting.get(name);
    if (waiting?.epoch === epoch) {
      this.#waiting.delete(name);
      return waiting.resolve(status);
    }
    if (this.#passed.size >= limits.events.heldMax) this.#passed.delete(this.#passed.keys().next().value as string);
    this.#passed.set(name, { epoch, status });
  }
}

function nameOf(kind: ClaimKind, key: string, attempt: number): string {
  return `${kind} ${key} ${attempt}`;
}
