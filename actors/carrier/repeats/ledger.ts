// What became of the records this carrier has seen in the replay window: it makes a redelivery harmless. A
// record with an outcome is only acked again; one with an intent from an earlier life and no outcome is
// `unknown`; anything else is new. After a restart it is filled by replay.ts from the actor's own events.
import type { DeliveryEvent } from '../../../model/delivery-event.ts';
import { type Clock, systemClock } from '../../../platform/clock.ts';
import { limits } from '../../../platform/limits.ts';
import { delaysOf, holdKey } from '../submit/attempt.ts';
import { Generations } from './generations.ts';
import { type HeldMessage, allTakenBits } from '../intake/held-message.ts';
import { type Rerouted, readRerouted } from '../health/rerouted-event.ts';
import { type PutOff, readPutOff } from '../outcome/put-off-event.ts';

export type LedgerVerdict = 'new' | 'settled' | 'intent_without_outcome' | 'rerouted' | 'put_off';

/** Segments with an outcome, as bits; `open` while an intent has no outcome for every segment. */
type Progress = {
  open: boolean;
  bits: number;
  attempt: number;
  resent: boolean;
  epoch: number;
  /** It is on its way into LATER. */
  putOff?: PutOff | null;
};

export class Ledger {
  readonly #settled: Generations<string, true>;
  /** What an earlier life of this actor left half done, and where nodes share the carrier what any of them has begun. */
  readonly #progress = new Map<string, Progress>();

  /** Records on their way to another carrier whose publish is not acknowledged yet, as far as is known here. */
  readonly #rerouted: Generations<string, Rerouted>;

  constructor(clock: Clock = systemClock) {
    this.#rerouted = new Generations(limits.carrier.replayWindowMs, limits.carrier.ledgerEntriesMax, clock);
    this.#settled = new Generations(limits.carrier.replayWindowMs, limits.carrier.ledgerEntriesMax, clock);
  }

  verdictOf(key: string): LedgerVerdict {
    if (this.#settled.get(key) === true) return 'settled';
    if (this.#rerouted.get(key) !== undefined) return 'rerouted';
    const progress = this.#progress.get(key);
    if (progress === undefined) return 'new';
    if (progress.putOff) return 'put_off';
    return progress.open ? 'intent_without_outcome' : 'new';
  }

  /**
   * What stands in EVENTS before an intent of this writer, when it is read next: `new` when nothing does, so that it is
   * the one that counts. Every node reads the same order, and so comes to the same answer.
   */
  claimVerdict(key: string, epoch: number): LedgerVerdict {
    const verdict = this.verdictOf(key);
    return verdict === 'intent_without_outcome' && this.ownerOf(key) === epoch ? 'new' : verdict;
  }

  /** The writer of the intent that is open, or of what puts it off; 0 when it is not known, or there were no other nodes. */
  ownerOf(key: string): number {
    return this.#progress.get(key)?.epoch ?? 0;
  }

  /** How a record was being put off; null when it was not. */
  putOffOf(key: string): PutOff | null {
    return this.#progress.get(key)?.putOff ?? null;
  }

  /** Segments of a record that may go again which the carrier took in an earlier life: they are not sent twice. */
  takenBitsOf(key: string): number {
    return this.#progress.get(key)?.bits ?? 0;
  }

  /** The last attempt an earlier life told of; 0 before the first. */
  attemptOf(key: string): number {
    return this.#progress.get(key)?.attempt ?? 0;
  }

  /** An earlier life, or another node, decided to send it once more: whatever becomes of that, there is no further time. */
  wasResent(key: string): boolean {
    return this.#progress.get(key)?.resent === true;
  }

  /** Gives a message the mark that goes with that, and that travels with it from now on. */
  markResent(held: Pick<HeldMessage, 'key' | 'message'>): void {
    if (this.wasResent(held.key)) held.message = { ...held.message, resends: 1 };
  }

  /** Where a record was on its way to; null when it was not. */
  reroutedOf(key: string): Rerouted | null {
    return this.#rerouted.get(key) ?? null;
  }

  /** Its `rerouted` event is durable: from now on it may only go there. */
  reroute(key: string, rerouted: Rerouted): void {
    this.#rerouted.set(key, rerouted);
    this.#progress.delete(key);
  }

  settle(key: string): void {
    this.#settled.set(key, true);
    this.#rerouted.delete(key);
    this.#progress.delete(key);
  }

  /** One event of an earlier life, in stream order. */
  learn(event: DeliveryEvent): void {
    const key = holdKey(event.messageId, event.hop, delaysOf(event.attempt));
    switch (event.kind) {
      case 'accepted':
      case 'scheduled':
      // Of no record that is on its way to the carrier.
      case 'received':
      case 'opted_out':
      case 'opted_in':
        return;
      case 'intent':
        // One that stands behind another node's counts for nothing: its writer has seen that too.
        if (this.claimVerdict(key, event.epoch) !== 'new') return;
        this.#remember(key, {
          open: true,
          bits: this.takenBitsOf(key),
          attempt: event.attempt,
          resent: this.wasResent(key),
          epoch: event.epoch,
        });
        return;
      case 'resent':
        this.#learnResent(key, event);
        return;
      case 'deferred':
        this.#learnDeferred(key, event);
        return;
      case 'submitted':
      case 'delivered':
      case 'undelivered':
        this.#learnSegment(key, event);
        return;
      case 'rerouted':
        this.#learnRerouted(key, event);
        return;
      default:
        this.settle(key);
    }
  }

  /** A deferral into LATER ends this record (`error` says which way it was deferred); a short one reopens it. */
  #learnDeferred(key: string, event: DeliveryEvent): void {
    if (event.segment === 0) return this.settle(key);
    const progress = this.#progress.get(key);
    // A batch that was published again can stand behind the next intent: that one is still open.
    if (progress === undefined || progress.attempt > event.attempt) return;
    // Nobody closes what another node has begun.
    if (progress.epoch !== event.epoch && event.epoch !== 0) return;
    progress.open = false;
    progress.putOff = readPutOff(event);
  }

  /** It may go again, unless an intent behind this one says that it did. */
  #learnResent(key: string, { attempt }: DeliveryEvent): void {
    const before = this.#progress.get(key);
    const wentAgain = before !== undefined && before.open && before.attempt > attempt;
    this.#remember(key, {
      epoch: before?.epoch ?? 0,
      open: wentAgain,
      bits: before?.bits ?? 0,
      attempt: Math.max(before?.attempt ?? 0, attempt),
      resent: true,
    });
  }

  #learnRerouted(key: string, event: DeliveryEvent): void {
    if (this.claimVerdict(key, event.epoch) !== 'new') return;
    const rerouted = readRerouted(event);
    if (rerouted === null) return this.settle(key);
    this.reroute(key, rerouted);
  }

  #learnSegment(key: string, event: DeliveryEvent): void {
    const progress = this.#progress.get(key);
    if (progress === undefined) return;
    progress.bits |= 1 << event.segment;
    // Segment 0: one PDU carried the whole text.
    if (event.segment === 0 || progress.bits === allTakenBits(event.segments)) this.settle(key);
  }

  #remember(key: string, progress: Progress): void {
    const isNew = !this.#progress.has(key);
    if (isNew && this.#progress.size >= limits.carrier.ledgerEntriesMax) {
      this.#progress.delete(this.#progress.keys().next().value as string);
    }
    this.#progress.set(key, progress);
  }
}
