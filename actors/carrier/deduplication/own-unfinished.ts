// Records that come back although our own intent for them is open and we hold them no more: nobody but us can tell what
// became of them, so they must not be waited for as another node's are. They are taken as left when none of their events
// is on its way to EVENTS any more, and what is durable had its time to be read there.
import type { Clock } from '../../../platform/clock.ts';
import { limits } from '../../../platform/limits.ts';
import { RotatingMap } from '../../../platform/rotating-map.ts';
import type { InFlightMessage } from '../in-flight/in-flight-message.ts';

export class OwnUnfinished {
  readonly #clock: Clock;
  /** Released with events on their way. */
  readonly #publishing = new Map<string, InFlightMessage>();
  /** Since when each came back in vain. */
  readonly #sinceMs: RotatingMap<string, number>;

  constructor(clock: Clock) {
    this.#clock = clock;
    this.#sinceMs = new RotatingMap(limits.carrier.replayWindowMs, limits.carrier.shardHeldMax, clock);
  }

  /** We hold it no more. */
  released(inFlight: InFlightMessage): void {
    if (inFlight.pendingWrites > 0) this.#publishing.set(inFlight.key, inFlight);
  }

  /** Its record came again. True when we shall never tell more about it. */
  isLeft(key: string): boolean {
    const nowMs = this.#clock.monotonicMs();
    const isPublishing = (this.#publishing.get(key)?.pendingWrites ?? 0) > 0;
    const sinceMs = isPublishing ? nowMs : (this.#sinceMs.get(key) ?? nowMs);
    this.#sinceMs.set(key, sinceMs);
    return nowMs - sinceMs >= limits.carrier.ownOpenWaitMs;
  }

  /** Now and then: what has told everything. */
  forget(): void {
    for (const [key, inFlight] of this.#publishing) if (inFlight.pendingWrites === 0) this.#publishing.delete(key);
  }
}
