// Redelivered records whose open intent is our own although they are no longer in flight here: only this actor can
// decide about them, so it must not wait as it does for another node's. A record counts as left when none of its events
// is being published any more and the durable ones had time to be read.
import type { Clock } from '../../../platform/clock.ts';
import { limits } from '../../../platform/limits.ts';
import { RotatingMap } from '../../../platform/rotating-map.ts';
import type { InFlightMessage } from '../in-flight/in-flight-message.ts';

export class OwnUnfinished {
  readonly #clock: Clock;
  /** Released while events were being published. */
  readonly #publishing = new Map<string, InFlightMessage>();
  /** Since when each was redelivered without result. */
  readonly #sinceMs: RotatingMap<string, number>;

  constructor(clock: Clock) {
    this.#clock = clock;
    this.#sinceMs = new RotatingMap(limits.carrier.replayWindowMs, limits.carrier.shardHeldMax, clock);
  }

  /** It is no longer in flight here. */
  released(inFlight: InFlightMessage): void {
    if (inFlight.pendingWrites > 0) this.#publishing.set(inFlight.key, inFlight);
  }

  /** Its record was redelivered. True when this actor will publish no more about it. */
  isLeft(key: string): boolean {
    const nowMs = this.#clock.monotonicMs();
    const isPublishing = (this.#publishing.get(key)?.pendingWrites ?? 0) > 0;
    const sinceMs = isPublishing ? nowMs : (this.#sinceMs.get(key) ?? nowMs);
    this.#sinceMs.set(key, sinceMs);
    return nowMs - sinceMs >= limits.carrier.ownOpenWaitMs;
  }

  /** Called now and then: drops those whose events are all published. */
  dropPublished(): void {
    for (const [key, inFlight] of this.#publishing) if (inFlight.pendingWrites === 0) this.#publishing.delete(key);
  }
}
