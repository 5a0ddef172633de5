// Writes every delivery event into ClickHouse exactly once. The argument, in short (docs/decisions/0004 has it whole):
//   1. One recorder at a time, reading EVENTS in order; its progress is a compare-and-set record (progress.ts).
//   2. An event id that is recorded is dropped: known from memory, or looked up when its message is older than memory.
//   3. Before an insert its range of records and a token are durable. An insert whose end is not known (timed out,
//      killed) is repeated with the same range and the same token before anything else, and ClickHouse keeps one.
//   4. What the events change in the counts of reports follows from the range and what was recorded before it, and is
//      inserted under the same token (decision 200).
// It must never insert a range that is not durable, and never continue past a range that may be partly written.
import type { Bus } from '../../cluster/bus/connect.ts';
import { moveReadToDead } from '../../cluster/bus/dead-letter.ts';
import { openBucket } from '../../cluster/bus/ensure.ts';
import { numberKey } from '../../cluster/bus/installation-secret.ts';
import type { Publisher } from '../../cluster/bus/publisher.ts';
import { type StreamReader, readStream } from '../../cluster/bus/read-stream.ts';
import { StreamChanged, type StreamPosition, changeSince } from '../../cluster/bus/stream-position.ts';
import { streamNames } from '../../cluster/bus/streams.ts';
import { retentionDefault } from '../../config/retention-schema.ts';
import type { DeliveryEvent } from '../../model/delivery-event.ts';
import { NumberHashes } from '../../model/number-hash.ts';
import { type Clock, systemClock } from '../../platform/clock.ts';
import { withDeadline } from '../../platform/deadline.ts';
import { ignoring, messageOf } from '../../platform/errors.ts';
import { limits } from '../../platform/limits.ts';
import { log } from '../../platform/log.ts';
import { metrics } from '../../platform/telemetry.ts';
import { Fenced } from '../fenced-entry.ts';
import { ErasedNumbers } from '../erasure/erased-numbers.ts';
import { type LateChanges, lateChangesOver } from '../otp/late-changes.ts';
import { type Engine, slowRows } from '../store/engine.ts';
import { fillSources } from '../store/fill.ts';
import { hasEvents } from '../store/schema.ts';
import type { Batch } from './batch.ts';
import { Batcher, type EventRecord } from './batcher.ts';
import { MessageStates } from './counts/message-states.ts';
import { FillCheck } from './fill-check.ts';
import { Progress, continuesAt } from './progress.ts';
import { countedFromMs, refillSeenIds } from './recorded-before.ts';
import { TakenPosition } from './taken-position.ts';
import { Writer } from './writer.ts';

type RecorderOptions = {
  readonly bus: Bus;
  readonly engine: Engine;
  /** For unreadable records. */
  readonly publisher: Publisher;
  readonly arrived?: (event: DeliveryEvent) => void;
  /** Missing: with the key of this installation. */
  readonly numbers?: NumberHashes;
  /** Missing: nobody is erased. */
  readonly erased?: ErasedNumbers;
  /** Missing: rows are kept as long as by default. */
  readonly late?: LateChanges;
  readonly clock?: Clock;
};

export type Recorder = {
  /** Batches taken but not certainly in ClickHouse, in stream order. */
  unflushed(): Iterable<Batch>;
  /** The earliest `recorded_at` of rows that may not be in ClickHouse yet; null when there is none. */
  readonly heldSinceMs: number | null;
  /** Every record up to this one is in ClickHouse. */
  readonly recordedTo: number;
  /** Null: no event waits to be inserted. */
  readonly waiting: Waiting | null;
  /** How late it is, in ms: beyond the age that records have in a recorder that keeps up. 0 while no events come. */
  readonly lateMs: number;
  readonly recorded: StreamPosition;
  /** Every record up to this one is in ClickHouse or among `unflushed`. */
  readonly taken: TakenPosition;
  /** Creation time of the EVENTS that the positions belong to: a recreated stream counts from 1 again. */
  readonly streamMade: string;
  /**
   * Settles when it stops recording: `fenced` when another recorder took over, `stream_changed` when EVENTS was
   * recreated and all held rows are in ClickHouse, `stopped` after `stop`.
   */
  readonly ended: Promise<HowEnded>;
  /** Writes the held batches and the final progress, if possible within `deadlineMs`. */
  stop(deadlineMs: number): Promise<void>;
};

/** How long no insert has succeeded, or the oldest event has waited, if that is less, and the last refusal of ClickHouse. */
export type Waiting = { readonly forMs: number; readonly failure: string };

type HowEnded = 'fenced' | 'stopped' | 'stream_changed';

const tickEveryMs = 100;
/** When no record came for so long, none is late. */
const quietMs = 5_000;

export async function startRecorder(options: RecorderOptions): Promise<Recorder> {
  const { bus, engine, publisher, clock = systemClock, arrived = () => {}, erased = new ErasedNumbers() } = options;
  const { numbers = new NumberHashes(await numberKey(bus)) } = options;
  const stopping = new AbortController();
  const { created, state } = await bus.manager.streams.info(streamNames.events);
  const streamMade = String(created);
  const holds = async (place: StreamPosition) => (await changeSince(bus, streamNames.events, place, clock)) === null;
  const progress = await Progress.takeOver(await openBucket(bus, 'recorder'), streamMade, holds, clock);
  const { streamEpoch } = progress;

  // ClickHouse has rows beyond the progress when the progress record was lost, or a power cut took its last writes. Then the
  // pending range is not the last one that was written, and only the event ids show what is recorded.
  const reached = progress.pending?.last ?? progress.recordedTo;
  const beyond = await rowsBeyond(engine, streamEpoch, reached);
  const pending = beyond === 0 && (progress.pending?.last ?? 0) >= state.first_seq ? progress.pending : null;
  const frontierSeq = beyond > 0 ? beyond + 1 : (pending?.first ?? progress.recordedTo + 1);
  const seen = await refillSeenIds(engine, { streamEpoch, streamSeq: frontierSeq }, clock.nowMs());
  // The state of a message that has events already is looked up when its next event comes.
  const states = new MessageStates((await hasEvents(engine)) ? clock.nowMs() : 0);
  const { late = lateChangesOver(engine, retentionDefault.historyDays, clock) } = options;
  const writer = new Writer({ engine, progress, frontierSeq, replay: pending, late, stopping: stopping.signal, clock });

  const confirm = () => progress.confirm(0);
  const fills = new FillCheck({ engine, sources: fillSources.events, confirm, clock });

  let writing: Promise<void> | null = null;
  let reader: StreamReader | null = null;
  const { promise: ended, resolve: end } = Promise.withResolvers<HowEnded>();
  const batcher = new Batcher({
    streamEpoch,
    seen,
    states,
    countedFromMs: await countedFromMs(engine),
    replay: pending,
    closed: write,
    arrived,
    deadLetter,
    numbers,
    erased,
    clock,
  });
  const from = continuesAt(progress.recorded, pending);
  const taken = new TakenPosition(from.seq, clock);
  const newest = { storedAtNs: 0n, takenAtMs: Number.NEGATIVE_INFINITY };

  function take(record: EventRecord): Promise<void> | undefined {
    newest.storedAtNs = record.timestampNanos;
    newest.takenAtMs = clock.nowMs();
    const before = batcher.take(record);
    // The batcher holds the record now, unless it cannot be read and is being moved to DEAD.
    if (before === undefined || batcher.lastSeq === record.seq) taken.advance(record.seq);
    return before?.then(() => taken.advance(record.seq));
  }

  function write(): void {
    writing ??= writeAll().finally(() => {
      writing = null;
    });
  }

  async function writeAll(): Promise<void> {
    try {
      await writeClosed();
      if (fills.isDue && !writer.isRepeating) {
        await fills.step();
        // Those that were closed meanwhile.
        await writeClosed();
      }
    } catch (error) {
      if (stopping.signal.aborted) return ignoring(error, 'the recorder was stopped while it wrote');
      if (!(error instanceof Fenced)) throw error;
      log.error({ alarm: 'recorder_fenced', error: error.message }, 'this node stops recording');
      halt('fenced');
    }
  }

  async function writeClosed(): Promise<void> {
    for (let batch = batcher.oldest(); batch !== null; batch = batcher.oldest()) {
      await writer.write(batch);
      batcher.written();
    }
  }

  function halt(how: HowEnded): void {
    stopping.abort(new Error(`the recorder is ${how}`));
    cancelTick();
    reader?.stop();
    taken.close();
    batcher.forget();
    end(how);
  }

  /** Writes the held batches of the old stream before the new stream is read. */
  async function endWith(change: StreamChanged): Promise<void> {
    metrics.eventsChanged.inc({ reader: 'recorder' });
    log.error(
      { alarm: 'events_changed', recordedTo: writer.recorded.seq, error: change.message },
      'reads EVENTS again',
    );
    try {
      batcher.finish();
      await writing;
      await writer.settle();
    } catch (error) {
      if (!stopping.signal.aborted && !(error instanceof Fenced)) throw error;
      ignoring(error, 'another recorder has taken the progress over');
    }
    if (!stopping.signal.aborted) halt('stream_changed');
  }

  /** Retries until DEAD has the record, or the deadline: an unreadable record must not block readable ones. */
  async function deadLetter(record: Omit<EventRecord, 'timestampNanos'>, reason: string): Promise<void> {
    const moved = moveReadToDead(publisher, record, streamNames.events, reason, clock);
    await withDeadline('moving a record to DEAD', limits.recorder.deadTimeoutMs, moved).catch((error: unknown) =>
      log.error({ alarm: 'record_skipped', seq: record.seq, reason, error: messageOf(error) }, 'left in EVENTS'),
    );
  }

  const cancelTick = clock.every(tickEveryMs, () => {
    batcher.tick();
    if (fills.isDue) write();
  });
  const { prefetchRecords: prefetch } = limits.recorder;
  // An ordered reader, because a range of records must be repeatable.
  reader = readStream(bus, { stream: streamNames.events, from, take, prefetch, clock });
  reader.done.catch((error: unknown) => {
    if (!(error instanceof StreamChanged)) throw error;
    return endWith(error);
  });

  return {
    unflushed: () => batcher.unflushed(),
    get heldSinceMs() {
      return stopping.signal.aborted ? 0 : batcher.heldSinceMs;
    },
    get recordedTo() {
      return writer.recorded.seq;
    },
    get recorded() {
      return writer.recorded;
    },
    get waiting() {
      const { openedAtMs } = batcher;
      if (openedAtMs === null) return null;
      return { forMs: clock.monotonicMs() - Math.max(openedAtMs, writer.storedAtMs), failure: writer.failure };
    },
    get lateMs() {
      const nowMs = clock.nowMs();
      const heldSinceMs = batcher.heldSinceMs ?? nowMs;
      const waitedMs = nowMs - heldSinceMs - limits.recorder.insertEveryMs;
      const isQuiet = nowMs - newest.takenAtMs > quietMs;
      const takenLateMs = isQuiet ? 0 : newest.takenAtMs - Number(newest.storedAtNs / 1_000_000n);
      return Math.max(0, waitedMs, takenLateMs);
    },
    taken,
    streamMade,
    ended,
    async stop(deadlineMs) {
      if (stopping.signal.aborted) return;
      cancelTick();
      reader?.stop();
      batcher.finish();
      const flushed = (writing ?? Promise.resolve()).then(() => writer.settle());
      await withDeadline('the last insert', deadlineMs, flushed).catch((error: unknown) =>
        ignoring(error, 'unwritten records are read again at the next start'),
      );
      halt('stopped');
    },
  };
}

/** The highest recorded sequence of this stream above `seq`; 0 when there is none. */
async function rowsBeyond(engine: Engine, streamEpoch: number, seq: number): Promise<number> {
  const [row] = await slowRows(
    engine,
    'SELECT max(stream_seq) FROM sms_events WHERE stream_seq > {seq:UInt64} AND stream_epoch = {streamEpoch:UInt64}',
    { seq, streamEpoch },
  );
  return (row?.[0] as number | undefined) ?? 0;
}
