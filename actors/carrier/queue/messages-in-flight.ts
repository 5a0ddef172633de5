// The carrier's messages in flight, by record key: taken from their streams and not acked or given back. Settling,
// giving back and queueing a message all go through this class.
import type { Clock } from '../../../platform/clock.ts';
import { limits } from '../../../platform/limits.ts';
import { OwnUnfinished } from '../deduplication/own-unfinished.ts';
import type { InFlightMessage } from '../in-flight/in-flight-message.ts';
import type { Lanes } from './lanes.ts';

export class MessagesInFlight {
  readonly #lanes: Pick<Lanes<InFlightMessage>, 'put' | 'remove'>;
  /** Of the messages that are in flight here no longer. */
  readonly own: OwnUnfinished;
  readonly #byKey = new Map<string, InFlightMessage>();
  /** Called for each message that has entered its lane. */
  onQueued: (inFlight: InFlightMessage) => void = () => {};

  constructor(lanes: Pick<Lanes<InFlightMessage>, 'put' | 'remove'>, clock: Clock) {
    this.#lanes = lanes;
    this.own = new OwnUnfinished(clock);
  }

  get size(): number {
    return this.#byKey.size;
  }

  /** In the order of arrival. */
  all(): Iterable<InFlightMessage> {
    return this.#byKey.values();
  }

  find(key: string): InFlightMessage | undefined {
    return this.#byKey.get(key);
  }

  hold(inFlight: InFlightMessage): void {
    this.#byKey.set(inFlight.key, inFlight);
  }

  /** Puts a message (back) into its lane; a full lane gives it back to its stream. */
  queue(inFlight: InFlightMessage): void {
    inFlight.queue();
    if (!this.#lanes.put(inFlight)) return this.giveBack(inFlight, limits.bus.nakDelayMsMax);
    this.onQueued(inFlight);
  }

  /** Returns a message to its lane after a short wait, unless it is no longer in flight. */
  tryAgain(inFlight: InFlightMessage): void {
    if (this.#byKey.get(inFlight.key) === inFlight) this.queue(inFlight);
  }

  /** The message is settled and acked, or left to another node: forgets it. */
  release(inFlight: InFlightMessage): void {
    inFlight.release();
    this.#byKey.delete(inFlight.key);
    this.#lanes.remove(inFlight);
    this.own.released(inFlight);
  }

  /** Naks a record: it is redelivered after `delayMs` (at most a second). */
  giveBack(inFlight: InFlightMessage, delayMs: number): void {
    this.release(inFlight);
    inFlight.record.nak(Math.min(delayMs, limits.bus.nakDelayMsMax));
  }

  /** Gives back what was not begun: another node can send it, and this one cannot. */
  giveBackUnbegun(): void {
    for (const inFlight of this.#byKey.values()) if (isUnbegun(inFlight)) this.giveBack(inFlight, 0);
  }

  /** What was not begun is redelivered after its ack wait: a nak now would revoke the new owner's delivery. */
  releaseUnbegun(): void {
    for (const inFlight of this.#byKey.values()) if (isUnbegun(inFlight)) this.release(inFlight);
  }

  /** The actor stops: naks what waits and cancels all timers. */
  close(): void {
    for (const inFlight of this.#byKey.values()) {
      inFlight.stopTimer();
      if (inFlight.state === 'queued' || inFlight.state === 'waiting') inFlight.record.nak();
    }
    this.#byKey.clear();
  }
}

function isUnbegun({ state, isUntouched, pendingWrites }: InFlightMessage): boolean {
  if (!isUntouched || pendingWrites > 0) return false;
  return state === 'queued' || state === 'waiting' || state === 'lapsed';
}
