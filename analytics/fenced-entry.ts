// An entry of a KV bucket with one writer. Every change is a compare-and-set, so of two writers only the later one
// continues; the other one is fenced. It does not interpret the entry.
import type { KV } from '@nats-io/kv';
import { type EntryRead, readEntry, replace } from '../cluster/bus/bucket.ts';
import type { Clock } from '../platform/clock.ts';
import { withDeadline } from '../platform/deadline.ts';
import { secretBytes } from '../platform/random.ts';

/** Another process has taken over: this one must stop writing. */
export class Fenced extends Error {
  constructor(what: string, by: string) {
    super(`${what}: another process (${by}) has taken over`);
    this.name = 'Fenced';
  }
}

type FencedEntryOptions = {
  readonly bucket: KV;
  readonly key: string;
  /** The name of the entry in errors. */
  readonly what: string;
  readonly answerWithinMs: number;
  readonly clock?: Clock;
};

export class FencedEntry<Row extends { readonly owner: string }> {
  readonly owner = secretBytes(9).toString('base64url');
  readonly #options: FencedEntryOptions;
  #revision = 0;

  constructor(options: FencedEntryOptions) {
    this.#options = options;
  }

  /** The stored entry of any owner; the next write takes it over. */
  async takeOver(): Promise<Row | null> {
    return this.#take(await this.#call('reading', readEntry(this.#options.bucket, this.#options.key)));
  }

  /** Our last stored write. Rejects with Fenced when another process has taken over. */
  async readBack(): Promise<Row | null> {
    const { bucket, key, what } = this.#options;
    const read = await this.#call('reading', readEntry(bucket, key));
    const owner = read.entry?.json<Row>().owner ?? this.owner;
    if (owner !== this.owner) throw new Fenced(what, owner);
    return this.#take(read);
  }

  /** Rejects when it was refused or not answered: then readBack() returns what is stored. */
  async write(row: Row): Promise<void> {
    const { bucket, key, what } = this.#options;
    const written = await this.#call('writing', replace(bucket, key, JSON.stringify(row), this.#revision));
    if (written === 'conflict') throw new Error(`${what} was written by another process`);
    this.#revision = written.revision;
  }

  #call<T>(verb: string, work: Promise<T>): Promise<T> {
    const { what, answerWithinMs, clock } = this.#options;
    return withDeadline(`${verb} ${what}`, answerWithinMs, work, clock);
  }

  #take({ entry, revision }: EntryRead): Row | null {
    this.#revision = revision;
    return entry?.json<Row>() ?? null;
  }
}
