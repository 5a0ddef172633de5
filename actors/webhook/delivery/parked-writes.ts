// Writes events into WEBHOOK_LOG in the order in which they are handed over. An endpoint that is slow hands over thousands at
// once. Only so many are in flight at a time: NATS sends the acknowledgements of all of them before the next events of EVENTS.
import type { Publisher } from '../../../cluster/bus/publisher.ts';
import { type WebhookRecord, encodeWebhook } from '../../../model/records/webhook-record.ts';
import type { Clock } from '../../../platform/clock.ts';
import { limits } from '../../../platform/limits.ts';

const repeatMs = 500;
const { parkingMax, parkingInFlightMax } = limits.delivery;

export class ParkedWrites {
  readonly #publisher: Publisher;
  readonly #clock: Clock;
  /** Publishes in their order; those before `#begun` were made. */
  #toPublish: (() => void)[] = [];
  #begun = 0;
  /** Published and not acknowledged. */
  #inFlight = 0;
  /** Handed over and not stored: not published, in flight, or waiting to be repeated. */
  #underWay = 0;
  #isPublishing = false;
  #waitForRoom: (() => void)[] = [];
  #waitForEnd: (() => void)[] = [];

  /** `publisher` with an endless deadline. */
  constructor(publisher: Publisher, clock: Clock) {
    this.#publisher = publisher;
    this.#clock = clock;
  }

  get hasRoom(): boolean {
    return this.#underWay < parkingMax;
  }

  /** Resolves when half of what may be on its way is durable, or when `stopping`. */
  room(stopping: AbortSignal): Promise<void> {
    if (this.hasRoom || stopping.aborted) return Promise.resolve();
    return new Promise((resolve) => {
      const go = () => {
        stopping.removeEventListener('abort', go);
        resolve();
      };
      this.#waitForRoom.push(go);
      stopping.addEventListener('abort', go, { once: true });
    });
  }

  /** `done` with its place, or null when the stream is full; not called when the process stops before. */
  write(subject: string, record: WebhookRecord, id: string | null, done: (seq: number | null) => void): void {
    let octets: Buffer | null = null;
    const publish = (): void => {
      octets ??= encodeWebhook(record);
      this.#inFlight += 1;
      this.#publisher.publish(subject, octets, id, (result) => {
        this.#inFlight -= 1;
        const isRepeated = !result.ok && !['closed', 'full', 'too_large'].includes(result.failure);
        if (isRepeated) this.#clock.after(repeatMs, () => this.#add(publish));
        else this.#underWay -= 1;
        this.#publishNext();
        this.#resolveWaiting();
        if (result.ok) done(result.seq);
        // EVENTS still has the event of one that was not published before the process stopped.
        else if (!isRepeated && result.failure !== 'closed') done(null);
      });
    };
    this.#underWay += 1;
    this.#add(publish);
  }

  #add(publish: () => void): void {
    this.#toPublish.push(publish);
    this.#publishNext();
  }

  #publishNext(): void {
    // A publish that is refused at once calls back from within.
    if (this.#isPublishing) return;
    this.#isPublishing = true;
    while (this.#inFlight < parkingInFlightMax) {
      const next = this.#toPublish[this.#begun];
      if (next === undefined) break;
      this.#begun += 1;
      // Records that were published are let go even if the queue never becomes empty.
      if (this.#begun === parkingInFlightMax || this.#begun === this.#toPublish.length) {
        this.#toPublish.splice(0, this.#begun);
        this.#begun = 0;
      }
      next();
    }
    this.#isPublishing = false;
  }

  #resolveWaiting(): void {
    if (this.#waitForRoom.length > 0 && this.#underWay <= parkingMax / 2)
      for (const go of this.#waitForRoom.splice(0)) go();
    if (this.#waitForEnd.length > 0 && this.#underWay === 0) for (const go of this.#waitForEnd.splice(0)) go();
  }

  /** Resolves when what was handed over is durable. */
  async idle(): Promise<void> {
    if (this.#underWay > 0) await new Promise<void>((resolve) => this.#waitForEnd.push(resolve));
  }

  /** Repeats nothing any more. */
  close(): void {
    this.#toPublish = [];
    this.#begun = 0;
    this.#publisher.close();
  }
}
