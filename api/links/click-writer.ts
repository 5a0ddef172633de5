// Makes clicks durable: gathers them for a few milliseconds, publishes them to CLICKS and repeats until they are stored.
// While NATS is away it keeps a bounded number, of each account a share; what does not fit is counted and lost, because a
// redirect never waits for its click. Each click has an id, by which its recorder drops the second of two copies.
import type { Publisher } from '../../cluster/bus/publisher.ts';
import { clicksSubject } from '../../cluster/bus/subjects.ts';
import { type Click, encodeClicks } from '../../model/records/click-record.ts';
import type { Cancel, Clock } from '../../platform/clock.ts';
import { limits } from '../../platform/limits.ts';
import { secretBytes } from '../../platform/random.ts';
import type { SharedBound } from '../../platform/shared-bound.ts';
import { metrics } from '../../platform/telemetry.ts';

const { gatherMs, recordMax, retryMs } = limits.clicks;

export class ClickWriter {
  readonly #publisher: Publisher;
  /** `clicks_held` of this thread. */
  readonly #held: SharedBound;
  readonly #clock: Clock;
  readonly #id = secretBytes(9).toString('base64url');
  #records = 0;
  #gathered: Click[] = [];
  #cancel: Cancel | null = null;
  #closed = false;

  /** `publisher` without a deadline: clicks must not be given up while this process lives. */
  constructor(publisher: Publisher, held: SharedBound, clock: Clock) {
    this.#publisher = publisher;
    this.#held = held;
    this.#clock = clock;
  }

  write(click: Click): void {
    if (this.#closed || this.#held.take(click.accountId) !== 'taken') return metrics.clicksLost.inc();
    this.#gathered.push(click);
    if (this.#gathered.length >= recordMax) return this.flush();
    this.#cancel ??= this.#clock.after(gatherMs, () => this.flush());
  }

  /** Publishes what is gathered; the publisher's `idle` resolves when it is stored. */
  flush(): void {
    this.#cancel?.();
    this.#cancel = null;
    if (this.#gathered.length === 0) return;
    const clicks = this.#gathered;
    this.#gathered = [];
    this.#records += 1;
    this.#publish(clicks, encodeClicks(clicks), `${this.#id}.${this.#records}`);
  }

  close(): void {
    this.flush();
    this.#closed = true;
  }

  #publish(clicks: readonly Click[], payload: Uint8Array, id: string): void {
    this.#publisher.publish(clicksSubject, payload, id, (result) => {
      if (!result.ok && !this.#closed && result.failure !== 'closed') {
        // The stream is full or away. The id stays, so a stored copy is not stored again.
        this.#clock.after(retryMs, () => this.#publish(clicks, payload, id));
        return;
      }
      if (!result.ok) metrics.clicksLost.inc(clicks.length);
      for (const { accountId } of clicks) this.#held.giveBack(accountId);
    });
  }
}
