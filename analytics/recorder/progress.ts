// The recorder's progress, in a KV bucket: the last record that is certainly in ClickHouse, and the range that may be
// (stored before the insert). Every change is a compare-and-set, so of two recorders only the later one continues; the
// other one is fenced.
import type { KV } from '@nats-io/kv';
import type { StreamPosition } from '../../cluster/bus/stream-position.ts';
import { type Clock, systemClock } from '../../platform/clock.ts';
import { ignoring, messageOf } from '../../platform/errors.ts';
import { limits } from '../../platform/limits.ts';
import { log } from '../../platform/log.ts';
import { jitteredBackoffMs } from '../../platform/random.ts';
import { Fenced, FencedEntry } from '../fenced-entry.ts';

/** A range of records that may be in ClickHouse, and the token of its insert. */
export type PendingRange = {
  readonly first: number;
  readonly last: number;
  /** When the server stored the last one: a stream restored from a backup has another record at this sequence. */
  readonly lastAtNs: string | null;
  readonly token: string;
};

type AnnouncedRange = { readonly firstSeq: number; readonly lastSeq: number; readonly lastAtNs: bigint | null };

export type ProgressRecord = {
  readonly owner: string;
  /** Increases with every write of this owner: distinguishes its writes. */
  readonly writes: number;
  /** When the stream was created, as the server reports it. */
  readonly made: string;
  /** The value of its rows in ClickHouse: higher for every recreated stream. */
  readonly streamEpoch: number;
  readonly recordedTo: number;
  /** When that record was stored; null when unknown. */
  readonly recordedAtNs: string | null;
  readonly pending: PendingRange | null;
};

/** Whose progress it is: its key in the bucket `recorder`, and the stream that tokens name. */
type ProgressOf = { readonly key: string; readonly stream: string };

/** In the bucket `recorder`. */
export const progressKey = 'events';
const ofEvents: ProgressOf = { key: progressKey, stream: 'EVENTS' };
const answerWithinMs = 3_000;

export class Progress {
  readonly #entry: FencedEntry<ProgressRecord>;
  readonly #clock: Clock;
  readonly #stream: string;
  #record: ProgressRecord;
  #confirmedAtMs: number;

  private constructor(bucket: KV, made: string, clock: Clock, { key, stream }: ProgressOf) {
    this.#entry = new FencedEntry({ bucket, key, what: `the progress of the recorder of ${key}`, answerWithinMs });
    this.#stream = stream;
    this.#clock = clock;
    this.#confirmedAtMs = clock.monotonicMs();
    const nothing = { recordedTo: 0, recordedAtNs: null, pending: null };
    this.#record = { owner: this.#entry.owner, writes: 0, made, streamEpoch: Date.parse(made), ...nothing };
  }

  /**
   * Takes the progress over from its owner; the recorded position is 0 when the stream is not the one they read.
   * `holds` tests whether the stream contains a position.
   */
  static async takeOver(
    bucket: KV,
    made: string,
    holds: (place: StreamPosition) => Promise<boolean>,
    clock: Clock = systemClock,
    whose: ProgressOf = ofEvents,
  ): Promise<Progress> {
    const progress = new Progress(bucket, made, clock, whose);
    const fresh = progress.#record;
    for (let attempt = 0; ; attempt += 1) {
      const found = await progress.#entry.takeOver();
      let kept = fresh;
      if (found !== null) {
        const { streamEpoch } = found;
        // Sequences of another stream do not apply to this one, whose events are later.
        if (await holds(reachedBy(found))) kept = { ...found, owner: fresh.owner };
        else kept = { ...fresh, streamEpoch: Math.max(fresh.streamEpoch, streamEpoch + 1) };
      }
      if (await progress.#write({ ...kept, writes: 1 })) return progress;
      await clock.sleep(jitteredBackoffMs(attempt, limits.recorder.retryBaseMs, limits.recorder.retryCapMs));
    }
  }

  get streamEpoch(): number {
    return this.#record.streamEpoch;
  }

  /** The last record that is in ClickHouse together with all before it. */
  get recorded(): StreamPosition {
    const { made, recordedTo, recordedAtNs } = this.#record;
    return { made, seq: recordedTo, storedAtNs: recordedAtNs === null ? null : BigInt(recordedAtNs) };
  }

  get recordedTo(): number {
    return this.#record.recordedTo;
  }

  get pending(): PendingRange | null {
    return this.#record.pending;
  }

  /**
   * Makes the range of records after `recorded` durable, with a token that no other range ever had, even after the stream or
   * this record was lost. Resolves with the token.
   */
  async announce(range: AnnouncedRange, recorded: StreamPosition, stopping: AbortSignal): Promise<string> {
    const { firstSeq: first, lastSeq: last } = range;
    const lastAtNs = range.lastAtNs === null ? null : String(range.lastAtNs);
    const token = `${this.#stream}:${first}-${last}:${this.#record.owner}.${this.#record.writes + 1}`;
    await this.save(recorded, { first, last, lastAtNs, token }, stopping);
    return token;
  }

  /** Resolves when durable. Retries until the bus answers; rejects with Fenced, or when `stopping`. */
  async save(recorded: StreamPosition, pending: PendingRange | null, stopping: AbortSignal): Promise<void> {
    const recordedAtNs = recorded.storedAtNs === null ? null : String(recorded.storedAtNs);
    const writes = this.#record.writes + 1;
    const wanted = { ...this.#record, recordedTo: recorded.seq, recordedAtNs, pending, writes };
    for (let attempt = 0; ; attempt += 1) {
      stopping.throwIfAborted();
      try {
        if (await this.#write(wanted)) return;
        const found = await this.#entry.readBack();
        if (found?.writes === wanted.writes) {
          this.#record = wanted; // the write had succeeded
          return;
        }
      } catch (error) {
        if (error instanceof Fenced) throw error;
        log.warn({ error: messageOf(error) }, 'the progress could not be written, trying again');
      }
      await this.#clock.sleep(jitteredBackoffMs(attempt, limits.recorder.retryBaseMs, limits.recorder.retryCapMs));
    }
  }

  /**
   * Call it before each insert. Rejects with Fenced when another process has taken over. It asks the bucket only when the
   * last answer is as old as `afterMs`; 0: always.
   */
  async confirm(afterMs: number = limits.recorder.confirmAfterMs): Promise<void> {
    const nowMs = this.#clock.monotonicMs();
    if (nowMs - this.#confirmedAtMs < afterMs) return;
    await this.#entry.readBack();
    this.#confirmedAtMs = nowMs;
  }

  /** False when the bus refused or did not answer; then the stored entry must be read back. */
  async #write(record: ProgressRecord): Promise<boolean> {
    try {
      await this.#entry.write(record);
    } catch (error) {
      ignoring(error, 'the stored progress is read back');
      return false;
    }
    this.#record = record;
    this.#confirmedAtMs = this.#clock.monotonicMs();
    return true;
  }
}

/** Where reading continues: before the range that is repeated. */
export function continuesAt(recorded: StreamPosition, replay: PendingRange | null): StreamPosition {
  return replay === null ? recorded : { ...recorded, seq: replay.first - 1, storedAtNs: null };
}

/** The last record that may be in ClickHouse. */
export function reachedBy({ made, recordedTo, recordedAtNs, pending }: ProgressRecord): StreamPosition {
  const [seq, atNs] = pending === null ? [recordedTo, recordedAtNs] : [pending.last, pending.lastAtNs];
  return { made, seq, storedAtNs: atNs === null ? null : BigInt(atNs) };
}
