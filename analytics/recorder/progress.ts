// How far the recorder has come, kept in a KV bucket beside the stream it reads: the last record that is certainly in
// ClickHouse and the range that may be (written before the insert). Every change is a compare-and-set, so of two
// recorders only the one that came last can go on; the other learns that it is fenced.
import type { KV, KvEntry } from '@nats-io/kv';
import { type Clock, systemClock } from '../../platform/clock.ts';
import { withDeadline } from '../../platform/deadline.ts';
import { ignoring, messageOf } from '../../platform/errors.ts';
import { limits } from '../../platform/limits.ts';
import { log } from '../../platform/log.ts';
import { jitteredBackoffMs, secretBytes } from '../../platform/random.ts';

/** A range of records that may be in ClickHouse, and the token under which it was inserted if it was. */
export type PendingRange = { readonly first: number; readonly last: number; readonly token: string };

export type ProgressRecord = {
  readonly owner: string;
  /** Grows with every write of this owner: tells our own write from an older one of ours. */
  readonly writes: number;
  readonly streamEpoch: number;
  readonly recordedTo: number;
  readonly pending: PendingRange | null;
};

/** Another recorder has taken over: this one must not insert any more. */
export class Fenced extends Error {
  constructor(by: string) {
    super(`another recorder (${by}) has taken over`);
    this.name = 'Fenced';
  }
}

const key = 'events';
const answerWithinMs = 3_000;

export class Progress {
  readonly #bucket: KV;
  readonly #clock: Clock;
  readonly #owner = secretBytes(9).toString('base64url');
  #revision = 0;
  #record: ProgressRecord;

  private constructor(bucket: KV, streamEpoch: number, clock: Clock) {
    this.#bucket = bucket;
    this.#clock = clock;
    this.#record = { owner: this.#owner, writes: 0, streamEpoch, recordedTo: 0, pending: null };
  }

  /** Takes the recorder's place over from whoever had it, and says how far they came. */
  static async takeOver(bucket: KV, streamEpoch: number, clock: Clock = systemClock): Promise<Progress> {
    const progress = new Progress(bucket, streamEpoch, clock);
    for (let attempt = 0; ; attempt += 1) {
      const entry = await withDeadline('reading the progress', answerWithinMs, bucket.get(key));
      const found = parse(entry);
      progress.#revision = entry?.revision ?? 0;
      // Sequences of a stream that was made anew say nothing about this one.
      const same = found !== null && found.streamEpoch === streamEpoch;
      const kept = same ? { recordedTo: found.recordedTo, pending: found.pending } : { recordedTo: 0, pending: null };
      if (await progress.#write({ ...progress.#record, ...kept, writes: 1 })) return progress;
      await clock.sleep(jitteredBackoffMs(attempt, limits.recorder.retryBaseMs, limits.recorder.retryCapMs));
    }
  }

  get recordedTo(): number {
    return this.#record.recordedTo;
  }

  get pending(): PendingRange | null {
    return this.#record.pending;
  }

  /** A token no other range ever had, whatever became of the stream or of this record. */
  newToken(first: number, last: number): string {
    return `EVENTS:${first}-${last}:${this.#owner}.${this.#record.writes + 1}`;
  }

  /** Durable before it resolves. Repeats until the bus answers; rejects with Fenced, or when `stopping`. */
  async save(recordedTo: number, pending: PendingRange | null, stopping: AbortSignal): Promise<void> {
    const wanted = { ...this.#record, recordedTo, pending, writes: this.#record.writes + 1 };
    for (let attempt = 0; ; attempt += 1) {
      stopping.throwIfAborted();
      try {
        if (await this.#write(wanted)) return;
        await this.#readBack(wanted);
        if (this.#record === wanted) return;
      } catch (error) {
        if (error instanceof Fenced) throw error;
        log.warn({ error: messageOf(error) }, 'the progress could not be written, trying again');
      }
      await this.#clock.sleep(jitteredBackoffMs(attempt, limits.recorder.retryBaseMs, limits.recorder.retryCapMs));
    }
  }

  /** False when the bus refused or did not answer; then only reading back tells what is there. */
  async #write(record: ProgressRecord): Promise<boolean> {
    const octets = JSON.stringify(record);
    try {
      const work = this.#bucket.put(key, octets, { previousSeq: this.#revision });
      this.#revision = await withDeadline('writing the progress', answerWithinMs, work);
    } catch (error) {
      ignoring(error, 'the progress is read back to learn what is there');
      return false;
    }
    this.#record = record;
    return true;
  }

  async #readBack(wanted: ProgressRecord): Promise<void> {
    const entry = await withDeadline('reading the progress', answerWithinMs, this.#bucket.get(key));
    const found = parse(entry);
    if (found !== null && found.owner !== this.#owner) throw new Fenced(found.owner);
    this.#revision = entry?.revision ?? 0;
    if (found?.writes === wanted.writes) this.#record = wanted; // it had landed after all
  }
}

function parse(entry: KvEntry | null): ProgressRecord | null {
  return entry === null || entry.operation !== 'PUT' ? null : entry.json<ProgressRecord>();
}
