// Writes batches one by one: looks up what memory cannot know, makes range and token durable, inserts what the events change
// in the counts and then the events, and repeats each until ClickHouse acknowledges. A repeat is harmless because range and
// token stay the same.
import type { StreamPosition } from '../../cluster/bus/stream-position.ts';
import type { Clock } from '../../platform/clock.ts';
import { messageOf } from '../../platform/errors.ts';
import { limits } from '../../platform/limits.ts';
import { log } from '../../platform/log.ts';
import { jitteredBackoffMs } from '../../platform/random.ts';
import { metrics } from '../../platform/telemetry.ts';
import { Fenced } from '../fenced-entry.ts';
import { erasedMessages } from '../erasure/erased-numbers.ts';
import type { LateChanges } from '../otp/late-changes.ts';
import type { Engine } from '../store/engine.ts';
import type { NativeBlock } from '../store/native-block.ts';
import type { Batch } from './batch.ts';
import { type PendingRange, type Progress, continuesAt } from './progress.ts';
import { recordedBefore } from './recorded-before.ts';

type WriterOptions = {
  readonly engine: Engine;
  readonly progress: Progress;
  /** Rows of this stream from this sequence on are not recorded; earlier ones are. */
  readonly frontierSeq: number;
  /** The range to repeat with its old token. */
  readonly replay: PendingRange | null;
  readonly late: LateChanges;
  readonly stopping: AbortSignal;
  readonly clock: Clock;
};

export class Writer {
  readonly #options: WriterOptions;
  #replay: PendingRange | null;
  #recorded: StreamPosition;
  #storedAtMs = Number.NEGATIVE_INFINITY;
  #failure = '';

  constructor(options: WriterOptions) {
    this.#options = options;
    this.#replay = options.replay;
    this.#recorded = continuesAt(options.progress.recorded, options.replay);
  }

  /** The last record that is in ClickHouse together with all before it. */
  get recorded(): StreamPosition {
    return this.#recorded;
  }

  /** When the last batch was in ClickHouse, in monotonic ms. */
  get storedAtMs(): number {
    return this.#storedAtMs;
  }

  /** The last refusal of ClickHouse since then; '' without one. */
  get failure(): string {
    return this.#failure;
  }

  /** Whether a range that may be in ClickHouse waits to be repeated. */
  get isRepeating(): boolean {
    return this.#replay !== null;
  }

  /** Resolves when the batch is in ClickHouse, with retries; rejects when fenced or stopped. */
  async write(batch: Batch): Promise<void> {
    const { engine, progress, frontierSeq, late, stopping, clock } = this.#options;
    const { streamEpoch } = progress;
    const frontier = { streamEpoch, streamSeq: Math.max(batch.firstSeq, frontierSeq) };
    const suspects = batch.suspects.map(({ event }) => event);
    const dropped = batch.resolve(await this.#untilDone('look-up', () => recordedBefore(engine, suspects, frontier)));
    if (dropped.size > 0) metrics.recorderDuplicates.inc(dropped.size);
    const block = batch.block(dropped);
    const token = await this.#announce(batch, block === null);
    if (block !== null) {
      const { messages, latencies } = batch.counts.rows();
      // The counts first: every event that can be read is counted.
      await this.#untilDone('insert of counts', () => this.#insert('message_counts', messages, token));
      await this.#untilDone('insert of latencies', () => this.#insert('latency_counts', latencies, token));
      await this.#untilDone('insert', () => this.#insert('sms_events', block, token));
      metrics.recordedRows.inc(block.rows);
    }
    await this.#untilDone('note of late changes', () => late.note(batch.otpTimes));
    if (batch.erased.size > 0) {
      const rows = Buffer.from([...batch.erased.values()].join(''));
      await this.#untilDone('note of erased messages', () => engine.insert(erasedMessages, rows));
    }
    stopping.throwIfAborted();
    this.#recorded = { made: this.#recorded.made, seq: batch.lastSeq, storedAtNs: batch.lastAtNs };
    this.#storedAtMs = clock.monotonicMs();
    this.#failure = '';
  }

  /** Stores that no range is pending, so that the next start repeats nothing. */
  async settle(): Promise<void> {
    const { progress, stopping } = this.#options;
    if (progress.pending === null && progress.recordedTo === this.#recorded.seq) return;
    await progress.save(this.#recorded, null, stopping);
  }

  /** Makes the range durable and returns its token. A batch without rows needs none. */
  async #announce(batch: Batch, empty: boolean): Promise<string> {
    const { progress, stopping } = this.#options;
    const replay = this.#replay;
    this.#replay = null;
    // If the first batch is after the range, none of its records is left in the stream.
    if (replay !== null && batch.firstSeq <= replay.last) return replay.token;
    if (empty) return '';
    return progress.announce(batch, this.#recorded, stopping);
  }

  async #insert(table: string, block: NativeBlock | null, token: string): Promise<void> {
    if (block === null) return;
    const { engine, progress, clock } = this.#options;
    await progress.confirm();
    const startedAtMs = clock.monotonicMs();
    await engine.insertBlock(`${table} (${block.columns.join(', ')})`, insertSettings(token), block.octets);
    metrics.insertSeconds.observe((clock.monotonicMs() - startedAtMs) / 1000);
  }

  #untilDone<T>(what: string, work: () => Promise<T>): Promise<T> {
    return untilStored(work, this.#options, (attempt, error) => {
      this.#failure = error;
      metrics.insertFailures.inc();
      log.warn({ what, attempt, error }, 'ClickHouse refused, events wait in the stream');
    });
  }
}

/** Repeats `work` of the store until it succeeds, and resolves with its result; rejects when fenced or `stopping`. */
export async function untilStored<T>(
  work: () => Promise<T>,
  { stopping, clock }: { readonly stopping: AbortSignal; readonly clock: Clock },
  onFailure: (attempt: number, error: string) => void,
): Promise<T> {
  const { retryBaseMs, retryCapMs } = limits.recorder;
  for (let attempt = 0; ; attempt += 1) {
    stopping.throwIfAborted();
    try {
      return await work();
    } catch (error) {
      if (error instanceof Fenced) throw error;
      onFailure(attempt, messageOf(error));
    }
    await clock.sleep(retryBaseMs + jitteredBackoffMs(attempt, retryBaseMs, retryCapMs), stopping);
  }
}

/**
 * With the second setting a repeat also fills a view that missed the first attempt, and no other. Without the third,
 * events of more than a hundred days (wrong clocks) would fail their insert, which is repeated for ever.
 */
export const insertSettings = (token: string): string =>
  `insert_deduplication_token = '${token}', deduplicate_blocks_in_dependent_materialized_views = 1, ` +
  'throw_on_max_partitions_per_insert_block = 0';
