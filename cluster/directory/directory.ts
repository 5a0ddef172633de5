// The directory in a door's memory: read once, then kept by a watch on the KV bucket. It answers from memory only,
// and goes on answering with what it knows while NATS is away (static stability): without NATS a door accepts
// nothing anyway, and a watch that fell behind while NATS works is found within two checks and read anew.
import { type Clock, systemClock } from '../../platform/clock.ts';
import { messageOf } from '../../platform/errors.ts';
import { limits } from '../../platform/limits.ts';
import { log } from '../../platform/log.ts';
import { metrics } from '../../platform/telemetry.ts';
import type { AccountId } from '../../model/ids.ts';
import type { Bus } from '../bus/connect.ts';
import { AlarmClock } from './alarm-clock.ts';
import { BusCalls } from './bus-calls.ts';
import type { Directory } from './contract.ts';
import { Tenants } from './tenants.ts';
import { type BucketReading, lastRevision, readBucket } from './watch.ts';

/** Resolves when the whole bucket is in memory; from then on a change is in force some milliseconds after its put. */
export async function openDirectory(bus: Bus, clock: Clock = systemClock): Promise<Directory> {
  const directory = new WatchedDirectory(bus, clock);
  await directory.start();
  return directory;
}

type Held = { readonly tenants: Tenants; readonly reading: BucketReading };

class WatchedDirectory implements Directory {
  readonly #calls: BusCalls;
  readonly #clock: Clock;
  readonly #alarm: AlarmClock;
  #held: Held | null = null;
  #watching = false;
  #closed = false;
  /** Why the bucket must be read anew; null while the watch is believed. */
  #rereadWhy: string | null = null;
  /** Where the watch stood when a check last disagreed with it; -1 when they agree. */
  #doubtedAt = -1;
  #loop: Promise<void> = Promise.resolve();

  constructor(bus: Bus, clock: Clock) {
    this.#calls = new BusCalls(bus);
    this.#clock = clock;
    this.#alarm = new AlarmClock(clock);
    // A watch may have missed changes while the connection was away, whatever the client says about it.
    bus.onReconnect(() => this.#readAnew('reconnect'));
  }

  async start(): Promise<void> {
    await this.#read();
    this.#loop = this.#keep();
  }

  authenticate(token: string | undefined) {
    return this.#tenants.authenticate(token, this.#clock.nowMs());
  }

  account(accountId: AccountId) {
    return this.#tenants.account(accountId);
  }

  state() {
    const { keyCount, accountCount } = this.#tenants;
    return { keys: keyCount, accounts: accountCount, watching: this.#watching };
  }

  async close(): Promise<void> {
    this.#closed = true;
    this.#held?.reading.stop();
    this.#alarm.ring();
    await this.#loop;
  }

  get #tenants(): Tenants {
    return this.#held?.tenants ?? nobody;
  }

  /** Reads everything into fresh maps and swaps them in: what was deleted meanwhile is gone with the old ones. */
  async #read(): Promise<void> {
    const tenants = new Tenants();
    const reading = await readBucket(this.#calls, (name, body) => {
      if (tenants.apply(name, body)) return;
      metrics.directoryBadEntries.inc();
      log.error({ entry: name }, 'a directory entry cannot be read and is treated as absent');
    });
    const before = this.#held;
    if (before !== null && reading.madeAt !== before.reading.madeAt && !reading.filled) {
      // The bucket was lost and is being filled again: half of it must not make the other half's keys invalid.
      reading.stop();
      throw new Error('the directory was lost and is not filled again yet');
    }
    this.#held = { tenants, reading };
    before?.reading.stop();
    this.#watching = true;
    this.#doubtedAt = -1;
    if (this.#closed) reading.stop();
    void reading.ended.then(() => {
      if (this.#held?.reading === reading) this.#readAnew('watch ended');
    });
  }

  #readAnew(why: string): void {
    this.#rereadWhy ??= why;
    this.#alarm.ring();
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
        metrics.directoryEntries.set({ kind: 'key' }, this.#tenants.keyCount);
        metrics.directoryEntries.set({ kind: 'account' }, this.#tenants.accountCount);
        await this.#alarm.wait(limits.directory.watchCheckEveryMs);
      } catch (error) {
        if (this.#closed) return;
        if (this.#watching) {
          log.warn({ error: messageOf(error) }, 'the directory cannot be checked; answering from memory');
        }
        this.#watching = false;
        this.#rereadWhy ??= 'check failed';
        await this.#clock.sleep(limits.directory.outboxPollMs);
      }
    }
  }

  /** Two checks that find the watch at the same place, which is not the bucket's newest: it is deaf, not slow. */
  async #check(): Promise<void> {
    const newest = await lastRevision(this.#calls);
    const seen = this.#held?.reading.seen() ?? 0;
    if (seen === newest) this.#doubtedAt = -1;
    else if (this.#doubtedAt === seen) this.#readAnew('watch is deaf');
    else this.#doubtedAt = seen;
  }
}

const nobody = new Tenants();
