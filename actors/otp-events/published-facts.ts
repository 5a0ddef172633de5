// Publishes the facts of a stream's records, and knows up to which record all of them are durable. A publish that the stream
// refuses is repeated; meanwhile its record holds the position, and `room` holds the reader.
import type { Publisher } from '../../cluster/bus/publisher.ts';
import { factSubjects } from '../../cluster/bus/subjects.ts';
import type { EventId } from '../../model/ids.ts';
import type { Fact } from '../../model/fact.ts';
import { encodeFact } from '../../model/records/fact-record.ts';
import type { Clock } from '../../platform/clock.ts';
import { ignoring } from '../../platform/errors.ts';
import { limits } from '../../platform/limits.ts';
import { RotatingMap } from '../../platform/rotating-map.ts';
import { metrics } from '../../platform/telemetry.ts';

/** A record of which some facts are not durable yet. */
type Taken = { readonly seq: number; left: number };

const bounds = limits.facts;
const lookMs = 20;

export class PublishedFacts {
  readonly #publisher: Publisher;
  readonly #clock: Clock;
  /** In stream order; the first is the oldest. */
  readonly #taken: Taken[] = [];
  /** The last fact of each thing: a record that is written again for another reason has the same ones. */
  readonly #last: RotatingMap<string, EventId>;
  #durableSeq: number;

  /** `publisher` with an endless deadline. `durableSeq`: what was published before. */
  constructor(publisher: Publisher, durableSeq: number, clock: Clock) {
    this.#publisher = publisher;
    this.#clock = clock;
    this.#durableSeq = durableSeq;
    this.#last = new RotatingMap(bounds.publishedMs, bounds.publishedMax, clock);
  }

  /** The facts of every record up to this one are in FACTS. */
  get durableSeq(): number {
    return this.#durableSeq;
  }

  /** Forgets the position: the stream is another one. */
  reset(): void {
    this.#taken.length = 0;
    this.#durableSeq = 0;
  }

  /** The facts of the next record, each with the name of the thing it is about. */
  take(seq: number, facts: readonly (readonly [about: string, fact: Fact])[]): void {
    const taken: Taken = { seq, left: 1 };
    this.#taken.push(taken);
    for (const [about, fact] of facts) {
      if (this.#last.get(about) === fact.eventId) continue;
      this.#last.set(about, fact.eventId);
      taken.left += 1;
      this.publish(fact, () => this.#done(taken));
    }
    this.#done(taken);
  }

  /** `done` when it is durable; never when the process stops before. */
  publish(fact: Fact, done: () => void): void {
    const id = fact.kind === 'otp' ? `${fact.eventId}.${fact.version}` : fact.eventId;
    this.#publisher.publish(factSubjects[fact.kind], encodeFact(fact), id, (result) => {
      if (result.ok) return done();
      if (result.failure === 'closed') return;
      metrics.factsRefused.inc({ reason: result.failure });
      this.#clock.after(bounds.retryMs, () => this.publish(fact, done));
    });
  }

  get hasRoom(): boolean {
    return this.#taken.length <= bounds.inFlightMax;
  }

  /** Resolves when so little is in flight that another record may be read, or when `stopping`. */
  async room(stopping: AbortSignal, isFull: () => boolean): Promise<void> {
    while (!stopping.aborted && (!this.hasRoom || isFull())) {
      await this.#clock.sleep(lookMs, stopping).catch((error: unknown) => ignoring(error, 'the process stops'));
    }
  }

  #done(taken: Taken): void {
    taken.left -= 1;
    for (let first = this.#taken[0]; first !== undefined && first.left === 0; first = this.#taken[0]) {
      this.#taken.shift();
      this.#durableSeq = first.seq;
    }
  }
}
