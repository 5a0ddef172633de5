// Writes events into WEBHOOK_LOG in the order in which they are handed over. An endpoint that is slow hands over thousands at
// once: so many are published at a time, because the answers to all of them would come before the events of other endpoints.
import type { Publisher } from '../../../cluster/bus/publisher.ts';
import { type WebhookRecord, encodeWebhook } from '../../../model/records/webhook-record.ts';
import type { Clock } from '../../../platform/clock.ts';
import { limits } from '../../../platform/limits.ts';

const repeatMs = 500;
const { parkingMax, parkingAtOnceMax } = limits.delivery;

export class ParkedWrites {
  readonly #publisher: Publisher;
  readonly #clock: Clock;
  /** Handed over; those before `#begun` were published. Empty when all were. */
  #toWrite: (() => void)[] = [];
  #begun = 0;
  #isWriting = false;
  #waitForRoom: (() => void)[] = [];

  /** `publisher` with an endless deadline. */
  constructor(publisher: Publisher, clock: Clock) {
    this.#publisher = publisher;
    this.#clock = clock;
  }

  get #underWay(): number {
    return this.#publisher.inFlight + this.#toWrite.length - this.#begun;
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
    const attempt = (): void => {
      octets ??= encodeWebhook(record);
      this.#publisher.publish(subject, octets, id, (result) => {
        this.#writeOn();
        this.#giveRoom();
        if (result.ok) return done(result.seq);
        const { failure } = result;
        if (failure === 'closed') return; // the source has its record still
        if (failure === 'full' || failure === 'too_large') return done(null);
        this.#clock.after(repeatMs, attempt);
      });
    };
    this.#toWrite.push(attempt);
    this.#writeOn();
  }

  #writeOn(): void {
    // A publish that is refused at once calls back from within.
    if (this.#isWriting) return;
    this.#isWriting = true;
    while (this.#publisher.inFlight < parkingAtOnceMax) {
      const next = this.#toWrite[this.#begun];
      if (next === undefined) break;
      this.#begun += 1;
      next();
    }
    this.#isWriting = false;
    if (this.#begun < this.#toWrite.length) return;
    this.#toWrite = [];
    this.#begun = 0;
  }

  #giveRoom(): void {
    if (this.#waitForRoom.length === 0 || this.#underWay > parkingMax / 2) return;
    for (const go of this.#waitForRoom.splice(0)) go();
  }

  /** Resolves when what was handed over is durable. */
  async idle(): Promise<void> {
    do await this.#publisher.idle();
    while (this.#toWrite.length > 0);
  }

  /** Repeats nothing any more. */
  close(): void {
    this.#toWrite = [];
    this.#begun = 0;
    this.#publisher.close();
  }
}
