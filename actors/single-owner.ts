// Which process does work that is for one at a time, because it keeps queues and orders in memory: the delivery of
// webhooks, the publishing of events of one-time passwords. It renews its entry in the bucket of that work; another
// takes over when the entry has not changed for a while, measured on its own monotonic clock. Two that overlap for a
// moment repeat what they do under the same ids and lose nothing.
import type { KV } from '@nats-io/kv';
import { readEntry, remove, replace } from '../cluster/bus/bucket.ts';
import type { Bus } from '../cluster/bus/connect.ts';
import { openBucket } from '../cluster/bus/ensure.ts';
import type { KeyValueBucket } from '../cluster/bus/streams.ts';
import type { Clock } from '../platform/clock.ts';
import { withDeadline } from '../platform/deadline.ts';
import { ignoring, messageOf } from '../platform/errors.ts';
import { limits } from '../platform/limits.ts';
import { log } from '../platform/log.ts';
import { secretBytes } from '../platform/random.ts';

const key = 'owner';
const { renewEveryMs, takenOverAfterMs, answerMs } = limits.delivery;
const beginAgainMs = 1_000;

/** stops: the process does, and the next owner begins after it · lost: another one works already. */
export type OwnershipEnd = 'stops' | 'lost';

type OwnedWork = {
  readonly bus: Bus;
  readonly bucket: KeyValueBucket;
  readonly replicas: number;
  /** Of the work, for people. */
  readonly what: string;
  /** No other process can do it. */
  readonly alone: boolean;
  readonly clock: Clock;
  /** Begins the work as its owner. */
  readonly start: (bucket: KV) => Promise<{ stop(end: OwnershipEnd): Promise<void> }>;
};

/**
 * Does the work whenever this process is its owner, and begins again when it could not, until it is stopped. Returns at
 * once.
 */
export function runAsOwner(work: OwnedWork): { readonly isAtWork: boolean; stop(): Promise<void> } {
  const { bus, bucket: name, replicas, what, alone, clock, start } = work;
  const stopping = new AbortController();
  const { signal } = stopping;
  let isAtWork = false;

  async function run(): Promise<void> {
    while (!signal.aborted) {
      try {
        const bucket = await openBucket(bus, name, replicas);
        const owner = new SingleOwner(bucket, what, clock);
        await owner.acquire(alone, signal);
        const active = await start(bucket);
        isAtWork = true;
        await owner.lost(alone, signal).catch((error: unknown) => ignoring(error, 'the process stops'));
        isAtWork = false;
        await active.stop(signal.aborted ? 'stops' : 'lost');
        if (signal.aborted) await owner.release();
        else log.warn(`another process is the owner of ${what} now`);
      } catch (error) {
        if (signal.aborted) return ignoring(error, 'stopped while it began or ended');
        log.error({ error: messageOf(error) }, `${what}: the work could not begin, trying again`);
        await clock.sleep(beginAgainMs, signal).catch((end: unknown) => ignoring(end, 'stopped'));
      }
    }
  }

  const running = run();
  return {
    get isAtWork() {
      return isAtWork;
    },
    async stop() {
      stopping.abort(new Error(`the work on ${what} stops`));
      await running;
    },
  };
}

export class SingleOwner {
  readonly #bucket: KV;
  readonly #clock: Clock;
  readonly #me = secretBytes(9).toString('base64url');
  readonly #what: string;
  #revision = 0;
  #renewedAtMs = 0;

  /** `what`: of the work, for people. */
  constructor(bucket: KV, what: string, clock: Clock) {
    this.#what = what;
    this.#bucket = bucket;
    this.#clock = clock;
  }

  /** Resolves when this process is the owner; rejects when `stopping`. `alone`: no other process can be. */
  async acquire(alone: boolean, stopping: AbortSignal): Promise<void> {
    let seen = { revision: -1, atMs: 0 };
    for (;;) {
      stopping.throwIfAborted();
      try {
        const { entry, revision } = await this.#call(readEntry(this.#bucket, key));
        if (revision !== seen.revision) seen = { revision, atMs: this.#clock.monotonicMs() };
        const isFree = entry === null || alone || this.#clock.monotonicMs() - seen.atMs >= takenOverAfterMs;
        if (isFree && (await this.#write(revision))) return;
      } catch (error) {
        log.warn({ error: messageOf(error) }, `the owner of ${this.#what} cannot be read now`);
      }
      await this.#clock.sleep(renewEveryMs, stopping);
    }
  }

  /** Resolves when another process has taken over, or (unless `alone`) may have; rejects when `stopping`. */
  async lost(alone: boolean, stopping: AbortSignal): Promise<void> {
    for (;;) {
      await this.#clock.sleep(renewEveryMs, stopping);
      try {
        if (!(await this.#write(this.#revision)) && !(await this.#isStillMine())) return;
      } catch (error) {
        log.warn({ error: messageOf(error) }, `the owner of ${this.#what} cannot be renewed now`);
      }
      if (!alone && this.#clock.monotonicMs() - this.#renewedAtMs >= takenOverAfterMs) return;
    }
  }

  /** Lets another process begin at once. */
  async release(): Promise<void> {
    await this.#call(remove(this.#bucket, key, this.#revision));
  }

  async #write(revision: number): Promise<boolean> {
    const atMs = this.#clock.monotonicMs();
    const written = await this.#call(replace(this.#bucket, key, this.#me, revision));
    if (written === 'conflict') return false;
    this.#revision = written.revision;
    this.#renewedAtMs = atMs;
    return true;
  }

  /** After a write whose answer was lost. */
  async #isStillMine(): Promise<boolean> {
    const { entry, revision } = await this.#call(readEntry(this.#bucket, key));
    if (entry?.string() !== this.#me) return false;
    this.#revision = revision;
    return true;
  }

  #call<T>(work: Promise<T>): Promise<T> {
    return withDeadline(`the owner of ${this.#what}`, answerMs, work, this.#clock);
  }
}
