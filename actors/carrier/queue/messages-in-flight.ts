// The messages this carrier holds: every one that was taken from its stream and not acked or given back, by the key of its
// record. Whoever ends a message, gives it back or puts it into its lane does it here. It decides nothing about one.
import type { Clock } from '../../../platform/clock.ts';
import { limits } from '../../../platform/limits.ts';
import { OwnUnfinished } from '../deduplication/own-unfinished.ts';
import type { InFlightMessage } from '../in-flight/in-flight-message.ts';
import type { Lanes } from './lanes.ts';

export class MessagesInFlight {
  readonly #lanes: Pick<Lanes<InFlightMessage>, 'put' | 'remove'>;
  readonly #own: OwnUnfinished;
  readonly #byKey = new Map<string, InFlightMessage>();
  #onQueued: (inFlight: InFlightMessage) => void = () => {};

  constructor(lanes: Pick<Lanes<InFlightMessage>, 'put' | 'remove'>, clock: Clock) {
    this.#lanes = lanes;
    this.#own = new OwnUnfinished(clock);
  }

  /** `onQueued` is called for each message that has come into its lane. */
  listen(onQueued: (inFlight: InFlightMessage) => void): void {
    this.#onQueued = onQueued;
  }

  get size(): number {
    return this.#byKey.size;
  }

  /** In the order they came. */
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
    this.#onQueued(inFlight);
  }

  /** A message that was refused for a moment goes back to its lane, unless it is held no more. */
  tryAgain(inFlight: InFlightMessage): void {
    if (this.#byKey.get(inFlight.key) === inFlight) this.queue(inFlight);
  }

  /** The message is settled and acked, or left to another node: forget it. */
  release(inFlight: InFlightMessage): void {
    inFlight.release();
    this.#byKey.delete(inFlight.key);
    this.#lanes.remove(inFlight);
    this.#own.released(inFlight);
  }

  /** Gives a record back to its stream, for another try in `delayMs` (at most a second). */
  giveBack(inFlight: InFlightMessage, delayMs: number): void {
    this.release(inFlight);
    inFlight.record.nak(Math.min(delayMs, limits.bus.nakDelayMsMax));
  }

  /** Gives back what was not begun: another node can send it, and we cannot. */
  handBack(): void {
    for (const inFlight of this.#byKey.values()) if (isUnbegun(inFlight)) this.giveBack(inFlight, 0);
  }

  /** Others have long been given what was not begun here: a nak would only take it from them. */
  letGo(): void {
    for (const inFlight of this.#byKey.values()) if (isUnbegun(inFlight)) this.release(inFlight);
  }

  /** A record came again whose open intent is our own, and we hold it no more. True when we shall never tell more about it. */
  isLeft(key: string): boolean {
    return this.#own.isLeft(key);
  }

  /** Now and then. */
  forget(): void {
    this.#own.forget();
  }

  /** We stop: what waits goes back at once, and nothing happens by itself any more. */
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
