// An entry of a KV bucket with one writer. Every change is a compare-and-set, so of two writers only the later one goes
// on; the other learns that it is fenced. It decides nothing about what the entry says.
import type { KV } from '@nats-io/kv';
import { type EntryRead, readEntry, replace } from '../cluster/bus/bucket.ts';
import { type Clock, systemClock } from '../platform/clock.ts';
import { withDeadline } from '../platform/deadline.ts';
import { secretBytes } from '../platform/random.ts';

/** Another process has taken over: this one must not go on. */
export class Fenced extends Error {
  constructor(what: string, by: string) {
    super(`${what}: another process (${by}) has taken over`);
    this.name = 'Fenced';
  }
}

export class FencedEntry<Row extends { readonly owner: string }> {
  readonly owner = secretBytes(9).toString('base64url');
  readonly #bucket: KV;
  readonly #key: string;
  readonly #what: string;
  readonly #answerWithinMs: number;
  readonly #clock: Clock;
  #revision = 0;

  /** `what`: for people. `answerWithinMs`: of every call to the bus. */
  constructor(bucket: KV, key: string, what: string, answerWithinMs: number, clock: Clock = systemClock) {
    this.#bucket = bucket;
    this.#key = key;
    this.#what = what;
    this.#answerWithinMs = answerWithinMs;
    this.#clock = clock;
  }

  /** What is there, whoever wrote it: the next write takes it over. */
  async takeOver(): Promise<Row | null> {
    return this.#learn(await this.#read());
  }

  /** Our own last write that landed. Rejects with Fenced when another process has taken over. */
  async readBack(): Promise<Row | null> {
    const read = await this.#read();
    const owner = rowOf<Row>(read)?.owner ?? this.owner;
    if (owner !== this.owner) throw new Fenced(this.#what, owner);
    return this.#learn(read);
  }

  /** Rejects when it was refused or not answered: then only reading it back shows what is there. */
  async write(row: Row): Promise<void> {
    const work = replace(this.#bucket, this.#key, JSON.stringify(row), this.#revision);
    const written = await withDeadline(`writing ${this.#what}`, this.#answerWithinMs, work, this.#clock);
    if (written === 'conflict') throw new Error(`${this.#what} was written by another process`);
    this.#revision = written.revision;
  }

  #read(): Promise<EntryRead> {
    const work = readEntry(this.#bucket, this.#key);
    return withDeadline(`reading ${this.#what}`, this.#answerWithinMs, work, this.#clock);
  }

  #learn(read: EntryRead): Row | null {
    this.#revision = read.revision;
    return rowOf<Row>(read);
  }
}

function rowOf<Row>({ entry }: EntryRead): Row | null {
  return entry?.json<Row>() ?? null;
}
