// Which of two nodes may send a message when both were given its record: the one whose intent stands first in EVENTS.
// The order of that stream is the only thing all nodes agree on; holds lapse in silence, deliveries are counted anew
// when a server dies, clocks differ. So an intent that is durable still waits until this node has read everything that
// stands before it. Alone there is nobody to wait for.
import type { DeliveryEvent } from '../../../model/delivery-event.ts';
import type { Clock } from '../../../platform/clock.ts';
import { limits } from '../../../platform/limits.ts';
import { attemptNumber, delaysOf, holdKey } from '../in-flight/attempt.ts';
import type { InFlightMessage } from '../in-flight/in-flight-message.ts';
import type { EventPlace, Ledger, LedgerVerdict } from './ledger.ts';

/** `new`: ours counts, go on · `lost`: nobody can tell us any more · otherwise what stood before it. */
export type ClaimVerdict = LedgerVerdict | 'lost';

export type ClaimKind = 'intent' | 'rerouted';

export type IntentClaims = {
  /** What our events are told apart by; 0 where there are no other nodes. */
  epoch(): number;
  /** The event is durable. `then` is called once: at once, or as soon as everything before the event is known. */
  confirm(kind: ClaimKind, held: InFlightMessage, then: (verdict: ClaimVerdict) => void): void;
};

export const onlyOurs: IntentClaims = { epoch: () => 0, confirm: (_kind, _held, then) => then('new') };

type Waiting = { readonly epoch: number; readonly sinceMs: number; readonly tell: (verdict: ClaimVerdict) => void };

export class SharedClaims implements IntentClaims {
  readonly #ledger: Ledger;
  readonly #epoch: () => number;
  readonly #clock: Clock;
  readonly #waiting = new Map<string, Waiting>();
  /** Those read in EVENTS before their writer was told that they are durable. */
  readonly #passed = new Map<string, { readonly epoch: number; readonly verdict: LedgerVerdict }>();

  constructor(ledger: Ledger, epoch: () => number, clock: Clock) {
    this.#ledger = ledger;
    this.#epoch = epoch;
    this.#clock = clock;
  }

  epoch(): number {
    return this.#epoch();
  }

  confirm(kind: ClaimKind, held: InFlightMessage, answer: (verdict: ClaimVerdict) => void): void {
    const { epoch } = held;
    const then = (verdict: ClaimVerdict) => {
      // We may hold it since before another node decided to send it once more: ours is that one time.
      this.#ledger.markResent(held);
      answer(verdict);
    };
    // Another life of this node: what it began before is over.
    if (epoch !== this.#epoch()) return then('lost');
    const name = nameOf(kind, held.key, attemptNumber(held.message.delays, held.tries));
    const passed = this.#passed.get(name);
    this.#passed.delete(name);
    if (passed !== undefined && passed.epoch === epoch) return then(passed.verdict);
    this.#waiting.set(name, { epoch, sinceMs: this.#clock.monotonicMs(), tell: then });
  }

  /** Every event of the carrier in stream order, our own too. The ledger learns it here. */
  learn(event: DeliveryEvent, isOwn: boolean, place?: EventPlace): void {
    const { kind } = event;
    if (!isOwn || (kind !== 'intent' && kind !== 'rerouted')) return this.#ledger.learn(event, place);
    const key = holdKey(event.messageId, event.hop, delaysOf(event.attempt));
    const verdict = this.#ledger.claimVerdict(key, event.epoch);
    this.#ledger.learn(event, place);
    this.#tell(nameOf(kind, key, event.attempt), event.epoch, verdict);
  }

  /** Something durable has not been read in EVENTS for this long: the reading is broken. */
  get behindMs(): number {
    let sinceMs = Number.POSITIVE_INFINITY;
    for (const waiting of this.#waiting.values()) {
      sinceMs = waiting.sinceMs;
      break; // the oldest is the first
    }
    return Math.max(0, this.#clock.monotonicMs() - sinceMs);
  }

  /** What has waited for too long gets its answer: the bus is away, or EVENTS cannot be read. */
  sweep(): void {
    const beforeMs = this.#clock.monotonicMs() - limits.carrier.claimWaitMs;
    for (const [name, waiting] of this.#waiting) {
      if (waiting.sinceMs > beforeMs && waiting.epoch === this.#epoch()) continue;
      this.#waiting.delete(name);
      waiting.tell('lost');
    }
  }

  /** We stop and read no further: what still waits is told as not written, or its intent would stay open. */
  end(): void {
    for (const [name, waiting] of this.#waiting) {
      this.#waiting.delete(name);
      waiting.tell('lost');
    }
  }

  #tell(name: string, epoch: number, verdict: LedgerVerdict): void {
    const waiting = this.#waiting.get(name);
    if (waiting?.epoch === epoch) {
      this.#waiting.delete(name);
      return waiting.tell(verdict);
    }
    if (this.#passed.size >= limits.events.heldMax) this.#passed.delete(this.#passed.keys().next().value as string);
    this.#passed.set(name, { epoch, verdict });
  }
}

function nameOf(kind: ClaimKind, key: string, attempt: number): string {
  return `${kind} ${key} ${attempt}`;
}
