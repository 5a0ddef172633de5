// Releases that are due and wait for capacity in their target streams: in order for each stream, because one stream that
// is full must not hold up another.
import type { JsMsg } from '@nats-io/jetstream';
import type { ReadLater } from '../../cluster/bus/later.ts';
import { streamOf } from '../../cluster/bus/publisher.ts';
import type { Cancel, Clock } from '../../platform/clock.ts';
import { RingQueue } from '../../platform/ring-queue.ts';

type DueRelease<Open> = { readonly later: ReadLater; readonly record: JsMsg; readonly open: Open };

type DueReleasesParts<Open> = {
  /** Releases that may wait for one stream. */
  readonly max: number;
  readonly hasCapacity: (subject: string) => boolean;
  readonly publish: (release: DueRelease<Open>) => void;
  readonly clock: Clock;
};

const drainEveryMs = 5;

export class DueReleases<Open> {
  readonly #parts: DueReleasesParts<Open>;
  readonly #byStream = new Map<string, RingQueue<DueRelease<Open>>>();
  /** Null while nothing waits. */
  #stopDraining: Cancel | null = null;
  #closed = false;

  constructor(parts: DueReleasesParts<Open>) {
    this.#parts = parts;
  }

  /** False when too many wait for its stream. */
  add(release: DueRelease<Open>): boolean {
    const stream = streamOf(release.later.subject);
    let queue = this.#byStream.get(stream);
    if (queue === undefined) {
      queue = new RingQueue(this.#parts.max);
      this.#byStream.set(stream, queue);
    }
    if (!queue.push(release)) return false;
    if (!this.#closed) this.#stopDraining ??= this.#parts.clock.every(drainEveryMs, () => this.drain());
    return true;
  }

  /** Called when a release is acknowledged, and periodically while something waits, because others publish too. */
  drain(): void {
    if (this.#closed) return;
    let waiting = 0;
    for (const queue of this.#byStream.values()) {
      for (let next = queue.peek(); next !== undefined; next = queue.peek()) {
        if (!this.#parts.hasCapacity(next.later.subject)) break;
        queue.shift();
        this.#parts.publish(next);
      }
      waiting += queue.size;
    }
    if (waiting === 0) this.#rest();
  }

  /** What is left was not acked: the next releaser gets it. */
  close(): void {
    this.#closed = true;
    this.#rest();
  }

  #rest(): void {
    this.#stopDraining?.();
    this.#stopDraining = null;
  }
}
