// A bucket in memory: read once, then kept up to date by a watch. While NATS is down the entries stay in effect (static
// stability); a watch that fell behind while NATS works is detected within two checks, and the bucket is read again
// into a fresh state that replaces the old one as a whole.
import { type Clock } from '../platform/clock.ts';
import { messageOf } from '../platform/errors.ts';
import { limits } from '../platform/limits.ts';
import { log } from '../platform/log.ts';
import { metrics } from '../platform/telemetry.ts';
import type { Bus } from '../cluster/bus/connect.ts';
import { WakeableTimer } from './wakeable-timer.ts';
import { BusCalls } from './bus-calls.ts';
import { type BucketReading, type WatchedBucketName, lastRevision, readBucket } from './watch.ts';

/** The state built from a bucket's entries. `apply` takes an entry or its deletion; false when it cannot be read. */
type BucketState = { apply(name: string, body: Uint8Array | null, revision: number): boolean };

type Held<State> = { readonly state: State; readonly reading: BucketReading };

export class WatchedBucket<State extends BucketState> {
  readonly #name: WatchedBucketName;
  readonly #calls: BusCalls;
  readonly #clock: Clock;
  readonly #alarm: WakeableTimer;
  readonly #newState: () => State;
  readonly #onCheck: (state: State) => void;
  #held: Held<State> | null = null;
  #nothing: State;
  #watching = false;
  #closed = false;
  /** Why the bucket must be read again; null while the watch is trusted. */
  #rereadWhy: string | null = null;
  /** The revision of the watch at the last check that found it behind; -1 when it is up to date. */
  #doubtedAt = -1;
  #loop: Promise<void> = Promise.resolve();

  /** `onCheck` runs about once a second, for gauges. */
  constructor(bus: Bus, name: WatchedBucketName, newState: () => State, onCheck: (state: State) => void, clock: Clock) {
    this.#name = name;
    this.#calls = new BusCalls(bus);
    this.#clock = clock;
    this.#alarm = new WakeableTimer(clock);
    this.#newState = newState;
    this.#nothing = newState();
    this.#onCheck = onCheck;
    // A watch may have missed changes while the connection was down, whatever the client reports.
    bus.onReconnect(() => this.#reread('reconnect'));
  }

  /** Resolves when the whole bucket is in memory. */
  async start(): Promise<void> {
    await this.#read();
    this.#loop = this.#keep();
  }

  get state(): State {
    return this.#held?.state ?? this.#nothing;
  }

  get watching(): boolean {
    return this.#watching;
  }

  async close(): Promise<void> {
    this.#closed = true;
    this.#held?.reading.stop();
    this.#alarm.notify();
    await this.#loop;
  }

  /** Reads everything into a fresh state and swaps it in: what was deleted meanwhile is gone with the old one. */
  async #read(): Promise<void> {
    const state = this.#newState();
    const take = (name: string, body: Uint8Array | null, revision: number) => {
      if (state.apply(name, body, revision)) return;
      metrics.directoryBadEntries.inc();
      log.error({ bucket: this.#name, entry: name }, 'a directory entry cannot be read and is not used');
    };
    const reading = await readBucket(this.#calls, take, this.#name);
    const before = this.#held;
    if (before !== null && reading.madeAt !== before.reading.madeAt && !reading.filled) {
      // The bucket was lost and is being filled again: a partial one must not invalidate the missing keys.
      reading.stop();
      throw new Error('the directory was lost and is not filled again yet');
    }
    this.#held = { state, reading };
    before?.reading.stop();
    this.#watching = true;
    this.#doubtedAt = -1;
    if (this.#closed) reading.stop();
    void reading.ended.then(() => {
      if (this.#held?.reading === reading) this.#reread('watch ended');
    });
  }

  #reread(why: string): void {
    this.#rereadWhy ??= why;
    this.#alarm.notify();
  }

  async #keep(): Promise<void> {
    while (!this.#closed) {
      try {
        const reason = this.#rereadWhy;
        if (reason === null) await this.#check();
        else {
          this.#rereadWhy = null;
          metrics.directoryRereads.inc({ reason });
          await this.#read();
        }
        this.#onCheck(this.state);
        await this.#alarm.wait(limits.directory.watchCheckEveryMs);
      } catch (error) {
        if (this.#closed) return;
        if (this.#watching) {
          const from = { bucket: this.#name, error: messageOf(error) };
          log.warn(from, 'the directory cannot be checked; answering from memory');
        }
        this.#watching = false;
        this.#rereadWhy ??= 'check failed';
        await this.#clock.sleep(limits.directory.outboxPollMs);
      }
    }
  }

  /** Two checks that find the watch at the same revision, behind the bucket's newest: it is stuck, not slow. */
  async #check(): Promise<void> {
    const newest = await lastRevision(this.#calls, this.#name);
    const seen = this.#held?.reading.seen() ?? 0;
    if (seen === newest) this.#doubtedAt = -1;
    else if (this.#doubtedAt === seen) this.#reread('watch is deaf');
    else this.#doubtedAt = seen;
  }
}
